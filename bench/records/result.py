"""A result: a run with its workload, its servers and all measurements."""

import re
from typing import Literal

from pydantic import BaseModel, model_validator

from bench.records.measurement import Measurement
from bench.workloads.workload import Workload

SCHEMA: Literal[3] = 3  # raised when an older reader would misread a newer file


class Machine(BaseModel, extra="forbid"):
    """The machine of a run."""

    system: str
    kernel: str
    cpu: str
    cores: int
    memory: int  # Bytes
    model: str = ""  # Of the CPU: family, model, stepping; its name may be the same for several
    microcode: str = ""
    boot: str = ""  # Another one after each start (/proc/sys/kernel/random/boot_id)
    governor: str | None
    limits: dict[str, str]  # Kernel settings and resource limits that affect a load

    @property
    def kind(self) -> tuple[str, ...]:
        """What machines have in common whose results stand on one page."""
        gibibytes = round(self.memory / 2**30)
        return self.cpu, self.model, self.microcode, f"{self.cores} cores", f"{gibibytes} GiB"

    @property
    def instance(self) -> tuple[str, ...]:
        """This machine since its start: a ratio of two figures needs the same one."""
        return *self.kind, self.kernel, self.boot


class ServerInfo(BaseModel, extra="forbid"):
    """A deployment that was measured."""

    title: str
    language: str
    framework: str
    homepage: str
    model: str
    folder: str  # Its code, relative to the repository's root
    run: list[str]
    fingerprint: str  # The conformance suite's fingerprint of its responses
    state: str  # A hash of everything that its verdict depends on
    versions: dict[str, str]  # The versions of its runtime and of its direct dependencies
    address: str = ""  # Where it ran, if the user started it there
    machine: Machine | None = None  # Its machine, if that is another one and could be read
    lines: int | None = None  # Its lines of code and configuration
    drivers: dict[str, str] = {}  # Its drivers, by database


class Failure(BaseModel, extra="forbid"):
    """A trial without a figure."""

    target: str
    case: str
    level: float
    repeat: int
    why: str
    disqualifies: bool  # Whether a response was wrong, so that none of the server's figures is kept
    # Whether the server itself failed; if not, `./just bench --resume` tries the trial again
    own: bool = True

    @property
    def key(self) -> tuple[str, str, float, int]:
        return self.target, self.case, self.level, self.repeat


class Run(BaseModel, extra="forbid"):
    """A run: its workload, servers and measurements."""

    schema_version: Literal[3] = SCHEMA
    id: str
    workload_name: str
    workload: Workload  # As it was run, with all changes from the command line
    quick: bool
    command: list[str]
    started: str
    finished: str | None = None
    # Whether each trial was measured, or failed because of its server; if not,
    # `./just bench --resume` continues
    complete: bool = False
    project: str  # The current commit, with `+` if files had been changed
    machine: Machine
    versions: dict[str, str]  # The versions of Python, the load generator and the databases
    seed: int = 0  # Of the order of trials
    workers: list[str] = []  # The machines that generated the load; empty for this one
    # The cores of the server, the databases and the load; empty if they were not pinned
    cpus: dict[str, list[int]] = {}
    servers: dict[str, ServerInfo]
    measurements: list[Measurement] = []
    failures: list[Failure] = []
    # Trials that failed for a reason that is not the server's, and were tried again
    tries: list[Failure] = []

    @property
    def commit(self) -> str:
        """The commit in ``project``, which is the output of ``git describe``."""
        return re.sub(r"^.*-g(?=[0-9a-f]+$)", "", self.project.removesuffix("+"))

    @property
    def hosts(self) -> list[str]:
        """Other machines that took part."""
        return sorted({*self.workers, *(info.address for info in self.servers.values())} - {""})

    @property
    def kind(self) -> tuple[str, ...]:
        """The kind of its machines: results of one kind stand on one page."""
        return *self.machine.kind, *self.hosts

    @property
    def place(self) -> tuple[str, ...]:
        """Its very machines: only figures of the same place have a ratio."""
        return *self.machine.instance, *self.hosts

    @model_validator(mode="after")
    def _servers_and_cases_are_known(self) -> "Run":
        cases = {case.name for case in self.workload.case}
        trials: list[Measurement | Failure] = [*self.measurements, *self.failures, *self.tries]
        for one in trials:
            if one.target not in self.servers or one.case not in cases:
                raise ValueError(f"{one.target}, {one.case}: no such server or case in this run")
        return self
