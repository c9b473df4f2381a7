"""A measurement: one trial's figures, and the conditions under which it was made."""

from collections.abc import Sequence

from pydantic import BaseModel

from bench.records.warning import Warning
from bench.workloads.load import Model
from spec import Source


class Latency(BaseModel, extra="forbid"):
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


class Errors(BaseModel, extra="forbid"):
    """Requests that failed, by kind."""

    connect: int = 0  # Not sent: no connection was made, or it closed first
    read: int = 0  # The connection broke or closed before the response was complete
    timeout: int = 0  # Answered too late
    unfinished: int = 0  # Never answered: begun longer than the timeout before the load ended
    status: int = 0  # Answered with another status
    short: int = 0  # Answered with a body of a wrong length

    @classmethod
    def sum(cls, parts: Sequence["Errors"]) -> "Errors":
        return cls(**{kind: sum(getattr(one, kind) for one in parts) for kind in cls.model_fields})

    @property
    def total(self) -> int:
        return sum(getattr(self, kind) for kind in type(self).model_fields)


class Step(BaseModel, extra="forbid"):
    """One step of a search for the capacity."""

    rate: float  # Requests per second that were scheduled
    seconds: float
    requests: int  # Good responses in time
    achieved: float  # `requests` per second, with those while connections are opened
    p99: float | None  # Milliseconds; None if it falls on a failed request
    failed: float  # The share of requests that failed
    held: bool  # Whether the server kept the limits
    why: str = ""  # Why it did not hold, or why the step proves nothing


class Cpu(BaseModel, extra="forbid"):
    """Seconds of CPU time, user and system, while the load ran."""

    server: float | None  # None if it runs on another machine, where it cannot be read
    # MongoDB and PostgreSQL, if the workload uses them and they run on this machine
    database: float | None
    upstream: float | None = None  # The slow upstream, if the workload uses it
    generator: float
    observer: float  # This program, which samples memory and compares responses
    other: float = 0.0  # All other programs on this machine


class Pressure(BaseModel, extra="forbid"):
    """How contended the machine's CPUs were while the load ran: shares from 0 to 1."""

    # The share of time in which a task waited for a CPU (/proc/pressure/cpu)
    cpu_some: float | None = None
    steal: float | None = None  # The share of CPU time that the hypervisor gave to others
    # The share of CPU time spent in soft interrupts, such as the network's
    softirq: float | None = None
    machine: float | None = None  # The share of all cores that was in use


class Clients(BaseModel, extra="forbid"):
    """How the connections of a closed load were served, as seen shortly before its end."""

    count: int
    starved: int  # Those that had got no answer for 5 s, or were not accepted for as long
    # Jain's index of the bytes that each got: 1 if all got the same, 1/count if one got all. None
    # if it is not known, as where the server closes connections.
    fairness: float | None


class Warmup(BaseModel, extra="forbid"):
    """The load before the measurement."""

    seconds: float
    requests: int  # Good responses
    judged: bool = True  # Whether it went on until the rate was level; else for a given time
    # Requests until the rate was level; None if it never was, or was not judged
    until_level: int | None = None


class Memory(BaseModel, extra="forbid"):
    """Memory of all the server's processes in bytes (PSS: shared pages count once)."""

    rest: int  # Before any load
    peak: int


class Sources(BaseModel, extra="forbid"):
    """The operations that a data source counted from the server's start to its end.

    ``least`` is the fewest that the answered requests need.
    """

    name: Source
    counted: int
    least: int
    exactly: bool = False  # Whether `counted` must equal `least`

    @property
    def agrees(self) -> bool:
        """Whether the count shows that every response used the data source."""
        return self.counted == self.least if self.exactly else self.counted >= self.least


class Checked(BaseModel, extra="forbid"):
    """Responses that were compared with the contract, byte for byte."""

    during: int  # Correct responses during the load
    after: int
    # Requests that the busy server did not answer, or refused with a status of the contract
    unanswered: int


class Measurement(BaseModel, extra="forbid"):
    """One repeat of one server, in one case, at one level."""

    target: str
    case: str
    model: Model
    level: float
    repeat: int  # From 1
    started: str
    command: list[str]  # The load generator's
    settings: dict[str, str]  # The server's settings that the workload sets
    # The contract's settings as the server got them; of URLs only scheme, host and path
    environment: dict[str, str] = {}
    seconds: float
    requests: int  # Good responses in time: with a status of the workload's
    rate: float  # `requests` per second
    latency: Latency | None  # None if nothing was requested
    # The response times of `requests` in microseconds: an HdrHistogram (V2, compressed, base64).
    # Failed requests are not in it. In a published result, the first repeat has that of all.
    histogram: str = ""
    errors: Errors
    attempts: int = 0  # Requests begun
    received: int | None = None  # Bytes of bodies; None if the load generator does not count them
    due: int | None = None  # Bytes that the bodies of `requests` should have had
    # Good responses in each whole second since the load began
    per_second: list[int] = []
    warmup: Warmup | None = None  # None if there was none, or nothing is known of it
    clients: Clients | None = None  # None if they could not be inspected
    # Connections that the kernel dropped as a server accepted none (TcpExt ListenOverflows)
    refused: int = 0
    steps: list[Step] = []  # The steps of a search for the capacity
    cpu: Cpu
    pressure: Pressure = Pressure()
    # Milliseconds of CPU time that a fixed piece of work took just before the load; None if the
    # server ran on another machine, or if nothing is known of it
    work: float | None = None
    memory: Memory | None  # None if it cannot be read
    processes: int = 0  # The server's processes, as seen under load
    threads: int = 0  # The server's threads, as seen under load
    # The cores of the server, the database and the load; empty if they were not pinned
    affinity: dict[str, list[int]] = {}
    order: int = 0  # Its place in the run, from 1
    checked: Checked
    sources: list[Sources]
    warnings: list[Warning]  # Reasons to doubt the figure
    output: str  # The load generator's output
