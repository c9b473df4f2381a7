"""Why a figure may be worth less than it seems."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.answers import Sampler
from bench.generators import Outcome
from bench.result import Sources
from bench.workload import Workload

_BUSY = 0.05
"""The share of the machine that other programs may use."""
_SATURATED = 0.8
"""The share of its cores that a load generator may use."""
_OBSERVED = 0.03
"""The share of a core that measuring itself may use."""
_LATE = 20.0
"""Milliseconds by which a generator may miss the time at which a request is due."""
_FAILED = 0.01
"""The share of the requests that may fail."""
_TOO_MUCH = 2
"""How many times what the requests need a data source may count."""
_SLACK = 1_000
"""What it may count besides: requests still in flight at the end, and compared responses."""


@dataclass(frozen=True)
class Use:
    """Seconds of CPU time while the load ran, and bytes of memory."""

    server: float
    database: float | None
    generator: float
    observer: float
    machine: float
    machine_all: float
    """What there was: cores times seconds."""
    peak: int

    def with_peak(self, peak: int) -> "Use":
        """The same with the most memory that was seen."""
        return replace(self, peak=peak)

    @property
    def others(self) -> float:
        """The share of the machine that went to nothing that belongs to the measurement."""
        known = self.server + (self.database or 0) + self.generator + self.observer
        return max(self.machine - known, 0) / self.machine_all if self.machine_all else 0.0


def warnings(
    outcome: Outcome,
    use: Use,
    sampler: Sampler,
    sources: Sequence[Sources],
    workload: Workload,
) -> list[str]:
    """What has to stand beside the figure."""
    found = []
    if use.others > _BUSY:
        found.append(f"the machine was busy: other programs used {use.others:.0%} of it")
    generator = outcome.busiest
    if generator is None:
        generator = use.generator / (outcome.seconds * workload.load.threads or 1)
    if generator > _SATURATED:
        found.append(f"the load generator used {generator:.0%} of its cores: it may be the limit")
    if outcome.lag and outcome.lag > _LATE:
        found.append(f"the load generator itself sent requests up to {outcome.lag:.0f} ms late")
    database = use.database or 0
    if database > use.server:
        found.append(
            f"the database used {database:.1f} s of CPU, the server {use.server:.1f} s: "
            "the database may be the limit"
        )
    observer = use.observer / outcome.seconds if outcome.seconds else 0
    if observer > _OBSERVED:
        found.append(f"measuring used {observer:.0%} of a core")
    if workload.samples and not sampler.during:
        found.append("no response could be compared while the load ran")
    found += [
        f"{source.name} counted {source.counted}, the requests needed {source.least}: "
        "something else used it, and hides whether all of them did"
        for source in sources
        if source.counted > _TOO_MUCH * source.least + _SLACK
    ]
    asked = outcome.requests + outcome.errors.total
    if asked and outcome.errors.total / asked > _FAILED:
        found.append(f"{outcome.errors.total / asked:.0%} of the requests failed")
    return found
