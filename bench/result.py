"""Results: one JSON file per run, with all measurements; published ones are compressed.

:func:`schema` is its JSON Schema. ``SCHEMA`` is raised when an older reader would misread a newer
file.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from bench.workload import OPEN, Model, Workload
from harness.console import say
from harness.errors import UsageError, describe
from harness.paths import CALLER, ROOT
from harness.system.files import write_whole

SCHEMA = 2
RESULTS = ROOT / "results"


SourceName = Literal["mongodb", "postgresql", "upstream"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Latency(_Model):
    """Percentiles of the response time in milliseconds, over all requests.

    It counts from sending a request or, at a constant rate, from its scheduled start. A failed
    request counts as longer than any response: a percentile that falls on one is None, "over the
    timeout".
    """

    p50: float | None
    p75: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    p99_9: float | None
    max: float | None


class Errors(_Model):
    """Requests that failed, by kind."""

    connect: int = 0
    """Not sent: no connection was made, or it closed first."""
    read: int = 0
    """The connection broke or closed before the response was complete."""
    timeout: int = 0
    """Answered too late."""
    unfinished: int = 0
    """Never answered: begun longer than the timeout before the load ended."""
    status: int = 0
    """Answered with a status other than 200."""
    short: int = 0
    """Answered with a body of a wrong length."""

    @property
    def total(self) -> int:
        """The sum of all kinds."""
        return sum(getattr(self, kind) for kind in type(self).model_fields)


class Step(_Model):
    """One step of a search for the capacity."""

    rate: float
    """Requests per second that were scheduled."""
    seconds: float
    requests: int
    """Requests answered with 200, in time."""
    achieved: float
    """``requests`` per second."""
    p99: float | None
    """Milliseconds; None if it falls on a failed request."""
    failed: float
    """The share of requests that failed."""
    held: bool
    """Whether the server kept the limits."""
    why: str = ""
    """Why it did not hold, or why the step proves nothing."""


class Cpu(_Model):
    """Seconds of CPU time, user and system, while the load ran."""

    server: float | None
    """None if it runs on another machine, where it cannot be read."""
    database: float | None
    """MongoDB and PostgreSQL, if the workload uses them and they run on this machine."""
    upstream: float | None = None
    """The slow upstream, if the workload uses it."""
    generator: float
    observer: float
    """This program, which samples memory and compares responses."""
    other: float = 0.0
    """All other programs on this machine."""


class Pressure(_Model):
    """How contended the machine's CPUs were while the load ran: shares from 0 to 1."""

    cpu_some: float | None = None
    """The share of time in which a task waited for a CPU (/proc/pressure/cpu)."""
    steal: float | None = None
    """The share of CPU time that the hypervisor gave to others."""
    softirq: float | None = None
    """The share of CPU time spent in soft interrupts, such as the network's."""
    machine: float | None = None
    """The share of all cores that was in use."""


class Memory(_Model):
    """Memory of all the server's processes in bytes (PSS: shared pages count once)."""

    rest: int
    """Before any load."""
    peak: int


class Sources(_Model):
    """The operations that a data source counted from the server's start to its end.

    ``least`` is the fewest that the answered requests need.
    """

    name: SourceName
    counted: int
    least: int
    exactly: bool = False
    """Whether ``counted`` must equal ``least``."""

    @property
    def agrees(self) -> bool:
        """Whether the count shows that every response used the data source."""
        return self.counted == self.least if self.exactly else self.counted >= self.least


class Checked(_Model):
    """Responses that were compared with the contract, byte for byte."""

    during: int
    """Correct responses during the load."""
    after: int
    unanswered: int
    """Requests that the busy server did not answer, or refused with a status of the contract."""


class Measurement(_Model):
    """One repeat of one server, in one case, at one level."""

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
    """The server's settings that the workload sets."""
    environment: dict[str, str] = {}
    """The contract's settings as the server got them; of URLs only scheme, host and path."""
    seconds: float
    requests: int
    """Requests answered with 200, in time."""
    rate: float
    """``requests`` per second."""
    latency: Latency | None
    """None if nothing was requested."""
    histogram: str = ""
    """The response times of ``requests`` in microseconds: an HdrHistogram (V2, compressed, base64).
    Failed requests are not in it."""
    errors: Errors
    attempts: int = 0
    """Requests begun."""
    received: int | None = None
    """Bytes of bodies; None if the load generator does not count them."""
    due: int | None = None
    """Bytes that the bodies of ``requests`` should have had."""
    per_second: list[int] = []
    """Requests answered with 200 in each whole second since the load began."""
    steps: list[Step] = []
    """The steps of a search for the capacity."""
    cpu: Cpu
    pressure: Pressure = Pressure()
    memory: Memory | None
    """None if it cannot be read."""
    processes: int = 0
    """The server's processes, as seen under load."""
    threads: int = 0
    """The server's threads, as seen under load."""
    affinity: dict[str, list[int]] = {}
    """The cores of the server, the database and the load; empty if they were not pinned."""
    order: int = 0
    """Its place in the run, from 1."""
    checked: Checked
    sources: list[Sources]
    warnings: list[str]
    """Reasons to doubt the figure."""
    output: str
    """The load generator's output."""

    @property
    def open_loop(self) -> bool:
        """Whether requests were sent on schedule, whatever became of earlier ones."""
        return self.model in OPEN


class Machine(_Model):
    """The machine of a run."""

    system: str
    kernel: str
    cpu: str
    cores: int
    memory: int
    """Bytes."""
    governor: str | None
    limits: dict[str, str]
    """Kernel settings and resource limits that affect a load."""


class ServerInfo(_Model):
    """A deployment that was measured."""

    title: str
    language: str
    framework: str
    homepage: str
    model: str
    folder: str
    """Its code, relative to the repository's root."""
    run: list[str]
    fingerprint: str
    """The conformance suite's fingerprint of its responses."""
    state: str
    """A hash of everything that its verdict depends on."""
    versions: dict[str, str]
    """The versions of its direct dependencies."""
    address: str = ""
    """Where it ran, if the user started it there."""
    machine: Machine | None = None
    """Its machine, if that is another one and could be read."""
    lines: int | None = None
    """Its lines of code and configuration."""
    drivers: dict[str, str] = {}
    """Its drivers, by database."""


class Failure(_Model):
    """A turn without a figure."""

    target: str
    case: str
    level: float
    repeat: int
    why: str
    disqualifies: bool
    """Whether a response was wrong, so that none of the server's figures is kept."""
    own: bool = True
    """Whether the server itself failed; if not, ``just bench --resume`` tries the turn again."""

    @property
    def key(self) -> tuple[str, str, float, int]:
        """The key of its turn."""
        return self.target, self.case, self.level, self.repeat


class Run(_Model):
    """A run: its workload, servers and measurements."""

    schema_version: Literal[2] = 2
    id: str
    workload_name: str
    workload: Workload
    """As it was run, with all changes from the command line."""
    quick: bool
    command: list[str]
    started: str
    finished: str | None = None
    complete: bool = False
    """Whether each turn was measured, or failed because of its server; if not,
    ``just bench --resume`` continues."""
    project: str
    """The current commit, with ``+`` if files had been changed."""
    machine: Machine
    versions: dict[str, str]
    """The versions of Python, the load generators and the databases."""
    seed: int = 0
    """Of the order of turns."""
    workers: list[str] = []
    """The machines that generated the load; empty for this one."""
    cpus: dict[str, list[int]] = {}
    """The cores of the server, the databases and the load; empty if they were not pinned."""
    servers: dict[str, ServerInfo]
    measurements: list[Measurement] = []
    failures: list[Failure] = []
    tries: list[Failure] = []
    """Turns that failed for a reason that is not the server's, and were tried again."""

    @property
    def hosts(self) -> list[str]:
        """Other machines that took part."""
        return sorted({*self.workers, *(info.address for info in self.servers.values())} - {""})

    @property
    def place(self) -> tuple[str, ...]:
        """All its machines: figures of runs with the same place can be compared."""
        return self.machine.model_dump_json(), *self.hosts

    @model_validator(mode="after")
    def _servers_and_cases_are_known(self) -> "Run":
        cases = {case.name for case in self.workload.case}
        turns: list[Measurement | Failure] = [*self.measurements, *self.failures, *self.tries]
        for one in turns:
            if one.target not in self.servers or one.case not in cases:
                raise ValueError(f"{one.target}, {one.case}: no such server or case in this run")
        return self


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


def schema() -> dict[str, Any]:
    """The JSON Schema of a result."""
    return Run.model_json_schema() | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
