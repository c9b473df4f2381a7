"""The turns of a run, in order."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.workload import Case, Workload
from harness.catalog import Target

_OVERHEAD = 3.0
"""Seconds that a turn takes besides its load, for the estimate of the time left."""


@dataclass(frozen=True)
class Turn:
    """One server, freshly started in one case, measured once at one level."""

    target: Target
    case: Case
    level: float
    repeat: int
    warmup: float
    seconds: float
    """The estimated duration."""

    @property
    def key(self) -> tuple[str, str, float, int]:
        """Unique among the turns of a run."""
        return self.target.name, self.case.name, self.level, self.repeat


def can_run(target: Target, case: Case) -> bool:
    """Whether a deployment can run as many processes as a case sets."""
    return target.deployment.workers or case.settings.get("WORKERS", "1") == "1"


def turns(workload: Workload, targets: Sequence[Target]) -> list[Turn]:
    """The turns in which servers alternate at each level, repeat by repeat: A B C, A B C.

    So a change of the machine during the run affects all of them. A server skips cases that it
    cannot run.
    """
    return [
        _turn(workload, target, case, level, repeat)
        for repeat in range(1, workload.repeats + 1)
        for case in workload.case
        for level in workload.load.levels
        for target in targets
        if can_run(target, case)
    ]


def _turn(workload: Workload, target: Target, case: Case, level: float, repeat: int) -> Turn:
    warmup = target.deployment.warmup if workload.warmup is None else workload.warmup
    load = workload.load.duration_of(level) or workload.load.timeout
    return Turn(target, case, level, repeat, warmup, _OVERHEAD + warmup + load)
