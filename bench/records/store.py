"""The files of results: one JSON file per run; published ones are compressed."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from bench.records.result import SCHEMA, Run
from harness.console import say
from harness.errors import UsageError, describe
from harness.paths import CALLER, ROOT
from harness.system.files import write_whole

RESULTS = ROOT / "results"


def now() -> str:
    """The time, in UTC (ISO 8601)."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def path_of(run: Run) -> Path:
    """The result file of a run."""
    return RESULTS / f"{run.id}.json"


def write(run: Run) -> Path:
    """Write a run atomically."""
    path = path_of(run)
    write_whole(path, run.model_dump_json(indent=1))
    return path


def read(path: Path) -> Run:
    """Read and validate a run; errors name the file and the field."""
    try:
        packed = path.read_bytes()
        content = json.loads(gzip.decompress(packed) if path.suffix == ".gz" else packed)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UsageError(f"{path}: not a whole gzip file: {error}") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from error
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version != SCHEMA:
        raise UsageError(f"{path}: schema_version is {version!r}; this program reads {SCHEMA}")
    try:
        return Run.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"{path}: {describe(error, 'result')}") from error


def readable(paths: Iterable[Path]) -> Iterator[Run]:
    """The runs in files, but for those that this version of the program cannot read."""
    for path in paths:
        try:
            yield read(path)
        except UsageError as error:
            say(f"skipped: {error}")


def find(name: str) -> Path:
    """The file of a result, from its path, its id, or its name below ``results/``."""
    if name.endswith((".json", ".json.gz")):
        places = [CALLER / name]
    else:
        places = [RESULTS / f"{name}.json", RESULTS / f"{name}.json.gz"]
    if path := next((one for one in places if one.exists()), None):
        return path
    raise UsageError(f"there is no result {name!r}: `ls results` lists them")
