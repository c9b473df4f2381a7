"""What every load generator takes and returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from bench.records.histogram import merged
from bench.records.measurement import Clients, Errors, Latency, Step
from bench.records.warning import Warning
from bench.workloads.load import Load
from harness.errors import TaskError

WINDOWS = 4  # Windows per second, in which good responses are counted
MOST_CLIENTS = 400  # The most connections of a constant rate


class TransientError(TaskError):
    """Something other than the server failed: the trial is run again."""


class GeneratorError(TransientError):
    """A load generator failed."""


@dataclass(frozen=True, kw_only=True)
class LoadSpec:
    """A load to put on a server, at one of its levels."""

    url: str  # The server's URL, without a trailing slash
    paths: Sequence[str]  # Request targets, requested in order or at random
    load: Load
    level: float
    folder: Path  # For the generator's own files
    random: bool = False
    body: str = ""  # JSON to send with POST; without it, the requests are GETs
    statuses: Sequence[int] = (200,)  # Of a good response
    headers: dict[str, str] = field(default_factory=dict)
    # The length in bytes of the body due for each of `paths`, if they are known
    sizes: Sequence[int] = ()
    seed: int = 1  # Of the random order
    keep_alive: bool = True  # Whether a connection carries more than one request
    # Of a constant rate: the most requests that a connection carries, and the seconds at the start
    # of which no percentile counts a request; connections are opened in the first half of them
    most_calls: int | None = None
    opening: float = 0.0

    @property
    def duration(self) -> float | None:
        """Seconds; None if the number of requests limits the load."""
        return self.load.duration_of(self.level)

    def but(self, *, level: float | None = None, **changes: object) -> Self:
        """The same with other numbers of the load, at another level."""
        own = {"duration": self.duration} | changes
        at = self.level if level is None else level
        return replace(self, load=self.load.model_copy(update=own), level=at)


@dataclass(frozen=True)
class Bodies:
    """The bodies of all responses, in bytes."""

    received: int
    due: int  # What the complete responses should have had
    # The bounds of what a correct server sends: they leave room for unfinished responses, and for
    # the mix of paths if it is not known exactly. `most` is None if failures have bodies of any
    # length.
    least: int
    most: int | None

    @classmethod
    def sum(cls, parts: Sequence["Bodies"]) -> "Bodies":
        most = [one.most for one in parts if one.most is not None]
        return cls(
            received=sum(one.received for one in parts),
            due=sum(one.due for one in parts),
            least=sum(one.least for one in parts),
            most=sum(most) if len(most) == len(parts) else None,
        )

    @property
    def agree(self) -> bool:
        """Whether the sum is that of correct bodies."""
        return self.least <= self.received and (self.most is None or self.received <= self.most)


@dataclass(frozen=True, kw_only=True)
class LoadResult:
    """What a load generator measured."""

    command: list[str]
    requests: int  # Good responses in time
    seconds: float
    errors: Errors
    cpu: float  # Seconds of CPU time that the generator used
    observer: float  # Seconds of CPU time that this program used in that time
    output: str
    histogram: str = ""  # The response times of `requests`, encoded
    attempts: int = 0  # Requests begun
    # The share of a core that the generator's busiest process used, if it reports that
    busiest: float | None = None
    # The 99th percentile, in milliseconds, of how late requests were sent, without those that the
    # server delayed (constant rate)
    lag: float | None = None
    bodies: Bodies | None = None  # None if the generator does not count bytes
    # Good responses in each whole window of the load, to its end; also those without any
    windows: list[int] = field(default_factory=list)
    clients: Clients | None = None  # None if its connections could not be inspected
    capacity: float | None = None
    steps: list[Step] = field(default_factory=list)  # The steps of a search for the capacity
    # Good responses in other steps, which are in no figure but used CPU time and data sources
    others: int = 0
    workers_cpu: float = 0.0  # The part of `cpu` that other machines used
    warnings: list[Warning] = field(default_factory=list)

    @cached_property
    def latency(self) -> Latency | None:
        return merged([self.histogram]).latency(self.errors.total)

    def rate_of(self, load: Load, level: float) -> float:
        """Good responses per second of the load: those of an open model until its end alone."""
        if self.capacity is not None:
            return self.capacity
        windows = self.windows_of(load, level)
        if load.model != "closed" and windows:
            return sum(windows) * WINDOWS / len(windows)
        return self.requests / self.seconds if self.seconds else 0.0

    def windows_of(self, load: Load, level: float) -> list[int]:
        """Those of the load: without what an open model's last answers took after its end."""
        duration = load.duration_of(level)
        if load.model == "closed" or not duration:
            return self.windows
        return self.windows[: int(duration * WINDOWS)]

    @property
    def answered(self) -> int:
        """The good responses, in all steps of a search for the capacity."""
        return self.requests + self.others

    @property
    def share(self) -> float:
        """The part of all good responses that ``requests`` are."""
        return self.requests / self.answered if self.others else 1.0

    @property
    def per_second(self) -> list[int]:
        """Good responses in each whole second."""
        whole = len(self.windows) // WINDOWS * WINDOWS
        return [sum(self.windows[at : at + WINDOWS]) for at in range(0, whole, WINDOWS)]
