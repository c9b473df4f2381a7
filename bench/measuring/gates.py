"""Warnings: reasons to doubt a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from bench.generators import LoadResult
from bench.measuring.responses import Sampler
from bench.records.result import Pressure, Sources
from bench.workloads.workload import Workload

_BUSY = 0.05  # The share of the machine that other programs may use
_WAITED = 0.25  # The share of time in which a task may wait for a CPU
_STOLEN = 0.01  # The share of CPU time that the hypervisor may give to others
_SATURATED = 0.8  # The share of its cores that the load generator or the upstream may use
_OBSERVED = 0.03  # The share of a core that measuring may use
_LATE = 20.0  # Milliseconds by which the generator may miss a request's scheduled start
_FAILED = 0.01  # The share of requests that may fail
_TOO_MUCH = 2  # The largest ratio of a data source's count to the operations that the requests need
_SLACK = 1_000  # Further operations: requests still in flight at the end, and compared responses
_DRIFT = 0.05  # The share by which the last third of a load may differ from the first
_LEAST_SECONDS = 6  # The fewest whole seconds that are divided into thirds


@dataclass(frozen=True)
class Usage:
    """Seconds of CPU time while the load ran, and how contended the CPUs were."""

    server: float | None
    database: float | None
    upstream: float | None
    generator: float
    observer: float  # This program, while the load ran
    program: float  # This program, with its reading of the load generator's log
    machine: float  # All programs on the server's machine or, if that cannot be read, on this one
    pressure: Pressure
    away: float = 0.0  # What the programs above used on other machines than that

    @property
    def other(self) -> float:
        """The CPU time of all other programs on that machine."""
        sources = (self.database or 0) + (self.upstream or 0)
        known = (self.server or 0) + sources + self.generator + self.program - self.away
        return max(self.machine - known, 0.0)

    @property
    def other_share(self) -> float:
        """The share of the machine that other programs used."""
        return self.other / self.machine * (self.pressure.machine or 0) if self.machine else 0.0


def warnings(
    result: LoadResult,
    usage: Usage,
    sampler: Sampler,
    sources: Sequence[Sources],
    workload: Workload,
) -> list[str]:
    """The warnings that a figure carries."""
    found = [*_machine(usage), *_bottlenecks(result, usage, workload)]
    sent = result.requests + result.errors.total
    if workload.samples and not sampler.during:
        found.append("no response was compared during the load")
    found += [
        f"{source.name} counted {source.counted}, the requests needed {source.least}: "
        "other clients used it, or the server's driver asks more often than it must; so the count "
        "does not show that every request used it"
        for source in sources
        # Failed requests may have used it, too.
        if source.counted * result.requests > (_TOO_MUCH * source.least + _SLACK) * sent
    ]
    if sent and result.errors.total / sent > _FAILED:
        found.append(f"{result.errors.total / sent:.0%} of the requests failed")
    if workload.load.model != "capacity" and workload.load.requests is None:
        change = drift(result.per_second)
        if change:
            found.append(
                f"the rate was not steady: {abs(change):.0%} {'higher' if change > 0 else 'lower'} "
                "in the last third of the load than in the first"
            )
    return found


def drift(per_second: Sequence[int]) -> float | None:
    """By which share the last third of the whole seconds differs from the first; None if steady.

    It is steady within 5%, or within twice the standard error of counting if there are too few
    requests to tell. Loads of fewer than 6 whole seconds are not judged.
    """
    third = len(per_second) // 3
    first, last = sum(per_second[:third]), sum(per_second[-third:]) if third else 0
    if len(per_second) < _LEAST_SECONDS or not first + last:
        return None
    if not first:
        return 1.0
    # The counts of a steady load have a Poisson distribution: their difference has this error.
    change, error = last / first - 1, sqrt(first + last) / first
    return change if abs(change) > max(_DRIFT, 2 * error) else None


def _machine(usage: Usage) -> list[str]:
    """Signs that the machine did other things, or had too few cores."""
    found, pressure = [], usage.pressure
    if usage.other_share > _BUSY:
        found.append(f"the machine was busy: other programs used {usage.other_share:.0%} of it")
    if pressure.cpu_some and pressure.cpu_some > _WAITED:
        found.append(f"programs waited for a CPU in {pressure.cpu_some:.0%} of the time")
    if pressure.steal and pressure.steal > _STOLEN:
        found.append(f"the hypervisor gave {pressure.steal:.0%} of the CPU time to others")
    return found


def _bottlenecks(result: LoadResult, usage: Usage, workload: Workload) -> list[str]:
    """Signs that something else than the server limited the figure."""
    found = []
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
    if usage.server is not None and database > usage.server:
        found.append(
            f"the database used {database:.1f} s of CPU, the server {usage.server:.1f} s: "
            "the database may be the bottleneck"
        )
    upstream = (usage.upstream or 0) / (result.seconds or 1)
    if upstream > _SATURATED:
        found.append(f"the upstream used {upstream:.0%} of a core: it may be the bottleneck")
    observer = usage.observer / result.seconds if result.seconds else 0
    if observer > _OBSERVED:
        found.append(f"measuring used {observer:.0%} of a core")
    return found
