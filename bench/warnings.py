"""Warnings: reasons to doubt a figure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.answers import Sampler
from bench.generators import LoadResult
from bench.result import Sources
from bench.workload import Workload

_BUSY = 0.05
"""The share of the machine that other programs may use."""
_SATURATED = 0.8
"""The share of its cores that the load generator may use."""
_OBSERVED = 0.03
"""The share of a core that measuring may use."""
_LATE = 20.0
"""Milliseconds by which the generator may miss a request's scheduled start."""
_FAILED = 0.01
"""The share of requests that may fail."""
_TOO_MUCH = 2
"""The largest ratio of a data source's count to the operations that the requests need."""
_SLACK = 1_000
"""Further operations: requests still in flight at the end, and compared responses."""


@dataclass(frozen=True)
class Usage:
    """Seconds of CPU time while the load ran, and bytes of memory."""

    server: float
    database: float | None
    generator: float
    observer: float
    machine: float
    machine_all: float
    """CPU time available: cores times seconds."""
    peak: int

    def with_peak(self, peak: int) -> "Usage":
        """The same, with this peak memory."""
        return replace(self, peak=peak)

    @property
    def others(self) -> float:
        """The share of the machine's CPU time that other programs used."""
        known = self.server + (self.database or 0) + self.generator + self.observer
        return max(self.machine - known, 0) / self.machine_all if self.machine_all else 0.0


def warnings(
    result: LoadResult,
    usage: Usage,
    sampler: Sampler,
    sources: Sequence[Sources],
    workload: Workload,
) -> list[str]:
    """The warnings that a figure carries."""
    found = []
    if usage.others > _BUSY:
        found.append(f"the machine was busy: other programs used {usage.others:.0%} of it")
    generator = result.busiest
    if generator is None:
        generator = usage.generator / (result.seconds * workload.load.threads or 1)
    if generator > _SATURATED:
        found.append(
            f"the load generator used {generator:.0%} of its cores: it may be the bottleneck"
        )
    if result.lag and result.lag > _LATE:
        found.append(f"the load generator itself sent requests up to {result.lag:.0f} ms late")
    database = usage.database or 0
    if database > usage.server:
        found.append(
            f"the database used {database:.1f} s of CPU, the server {usage.server:.1f} s: "
            "the database may be the bottleneck"
        )
    observer = usage.observer / result.seconds if result.seconds else 0
    if observer > _OBSERVED:
        found.append(f"measuring used {observer:.0%} of a core")
    if workload.samples and not sampler.during:
        found.append("no response was compared during the load")
    found += [
        f"{source.name} counted {source.counted}, the requests needed {source.least}: "
        "other clients used it, so the count does not show that every request did"
        for source in sources
        if source.counted > _TOO_MUCH * source.least + _SLACK
    ]
    sent = result.requests + result.errors.total
    if sent and result.errors.total / sent > _FAILED:
        found.append(f"{result.errors.total / sent:.0%} of the requests failed")
    return found
