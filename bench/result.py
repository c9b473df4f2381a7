"""Results: one JSON file a run, with everything that was found.

:func:`schema` is its JSON Schema. ``SCHEMA`` grows when an older reader would misread a newer file.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from bench.workload import Model, Workload
from harness.errors import UsageError
from harness.paths import ROOT
from harness.validation import describe
from harness.writing import write_whole

SCHEMA = 1
RESULTS = ROOT / "results"


SourceName = Literal["mongodb", "postgresql", "upstream"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Latency(_Model):
    """Milliseconds from sending a request (or, at a constant rate, from when it was due)."""

    p50: float
    p75: float
    p90: float
    p99: float
    p99_9: float
    max: float


class Errors(_Model):
    """Requests that failed, by kind."""

    connect: int = 0
    """Never sent: the connection was not made, or given up before."""
    read: int = 0
    """The connection broke, or closed before the answer was whole."""
    timeout: int = 0
    """Answered too late, or not at all."""
    status: int = 0
    """Answered with anything but 200."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.connect + self.read + self.timeout + self.status


class Cpu(_Model):
    """Seconds of CPU time, user and system, while the load ran."""

    server: float
    database: float | None
    """MongoDB and PostgreSQL where the workload needs them and they are on this machine."""
    generator: float
    observer: float
    """This program: sampling memory, comparing responses."""


class Memory(_Model):
    """Bytes of the server's processes together, as PSS: what they share is counted once."""

    rest: int
    """Started and answering, before any load."""
    peak: int


class Sources(_Model):
    """What a data source counted from the server's start to its end.

    ``least`` is what the answered requests cannot have done without.
    """

    name: SourceName
    counted: int
    least: int
    exactly: bool = False
    """Whether it must be just that."""

    @property
    def agrees(self) -> bool:
        """Whether every answer has had its work done."""
        return self.counted == self.least if self.exactly else self.counted >= self.least


class Checked(_Model):
    """Responses that were compared with the contract's bytes."""

    during: int
    """While the load ran: right ones."""
    after: int
    unanswered: int
    """Those that the busy server did not answer, or refused with an error of the contract's."""


class Measurement(_Model):
    """One server, in one case, at one level, once."""

    target: str
    case: str
    model: Model
    level: float
    repeat: int
    """From 1."""
    started: str
    command: list[str]
    """The load generator's."""
    settings: dict[str, str]
    """The server's, as far as the workload sets them."""
    environment: dict[str, str] = {}
    """The server's, all of it, without passwords."""
    seconds: float
    requests: int
    """Answered with 200, in time."""
    rate: float
    """Those a second."""
    latency: Latency | None
    """None when nothing was answered."""
    errors: Errors
    cpu: Cpu
    memory: Memory
    checked: Checked
    sources: list[Sources]
    warnings: list[str]
    """Why the figure may be worth less than it seems."""
    output: str
    """What the load generator printed."""


class ServerInfo(_Model):
    """A deployment that was measured."""

    title: str
    language: str
    framework: str
    homepage: str
    model: str
    folder: str
    """Its code, from the repository's root."""
    run: list[str]
    fingerprint: str
    """Of its responses, by the conformance suite."""
    state: str
    """The hash of all that its verdict depends on."""
    versions: dict[str, str]
    """Of its direct dependencies."""


class Machine(_Model):
    """Where it ran."""

    system: str
    kernel: str
    cpu: str
    cores: int
    memory: int
    """Bytes."""
    governor: str | None
    limits: dict[str, str]
    """Kernel settings and resource limits that bound a load."""


class Failure(_Model):
    """A turn that gave no figure."""

    target: str
    case: str
    level: float
    repeat: int
    why: str
    disqualifies: bool
    """It answered wrongly: none of its figures is kept."""

    @property
    def key(self) -> tuple[str, str, float, int]:
        """What tells its turn from all others."""
        return self.target, self.case, self.level, self.repeat


class Run(_Model):
    """A whole run."""

    schema_version: Literal[1] = 1
    id: str
    workload_name: str
    workload: Workload
    """As it was run, with all that was changed."""
    quick: bool
    command: list[str]
    started: str
    finished: str | None = None
    complete: bool = False
    """Whether all that was planned was measured; ``just bench --resume`` goes on."""
    project: str
    """The commit that was checked out, with ``+`` if files were changed."""
    machine: Machine
    versions: dict[str, str]
    """Of load generators, databases, this program's Python."""
    servers: dict[str, ServerInfo]
    measurements: list[Measurement] = []
    failures: list[Failure] = []

    @model_validator(mode="after")
    def _tells_of_what_it_names(self) -> "Run":
        cases = {case.name for case in self.workload.case}
        told: list[Measurement | Failure] = [*self.measurements, *self.failures]
        for one in told:
            if one.target not in self.servers or one.case not in cases:
                raise ValueError(f"{one.target}, {one.case}: no such server or case in this run")
        return self


def now() -> str:
    """The time, in UTC (ISO 8601)."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def path_of(run: Run) -> Path:
    """The file of a run."""
    return RESULTS / f"{run.id}.json"


def write(run: Run) -> Path:
    """Write a run, whole or not at all."""
    path = path_of(run)
    write_whole(path, run.model_dump_json(indent=1))
    return path


def read(path: Path) -> Run:
    """Read and check a run; an error names file and field."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from error
    version = told.get("schema_version") if isinstance(told, dict) else None
    if version != SCHEMA:
        raise UsageError(f"{path}: schema_version is {version!r}; this program reads {SCHEMA}")
    try:
        return Run.model_validate(told)
    except ValidationError as error:
        raise UsageError(f"{path}: {describe(error, 'result')}") from error


def find(name: str) -> Path:
    """A result by its path or its id."""
    path = Path(name) if name.endswith(".json") else RESULTS / f"{name}.json"
    if not path.exists():
        raise UsageError(f"there is no result {name!r}: `ls results` shows what there is")
    return path


def schema() -> dict[str, Any]:
    """The JSON Schema of a result."""
    return Run.model_json_schema() | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
