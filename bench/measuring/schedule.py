"""The trials of a run, in order."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.workloads.workload import Case, Workload
from harness.servers.catalog import Target

_OVERHEAD = 3.0  # Seconds that a trial takes besides its load, until trials have been timed
_WARMING = 1.0  # The fewest seconds of half a warm-up that goes on until the rate is level
_UNKNOWN = 10.0  # The same for a load that ends by itself
_STEPS = 8  # The usual steps of a search for the capacity
_BETWEEN = 4.5  # Seconds that each of them takes besides its load


@dataclass(frozen=True)
class Trial:
    """One server, freshly started in one case, measured once at one level."""

    order: int  # Its place in the run, from 1
    target: Target
    case: Case
    level: float
    repeat: int
    warmup: float
    seconds: float  # The estimated duration

    @property
    def place(self) -> dict[str, Any]:
        """Where its outcome belongs in a result."""
        names = ("target", "case", "level", "repeat")
        return dict(zip(names, self.key, strict=True))

    @property
    def key(self) -> tuple[str, str, float, int]:
        """Unique among the trials of a run."""
        return self.target.name, self.case.name, self.level, self.repeat


def can_run(target: Target, case: Case) -> bool:
    """Whether a deployment can run as many processes as a case sets, or uses all cores in one."""
    deployment = target.deployment
    several = deployment.workers or deployment.all_cores
    return several or case.workers == 1


def settings_of(target: Target, case: Case) -> dict[str, str]:
    """The settings of a case; ``WORKERS`` only for deployments that have several processes."""
    return {
        str(name): value
        for name, value in case.settings.items()
        if name != "WORKERS" or target.deployment.workers
    }


def trials(workload: Workload, targets: Sequence[Target], seed: int) -> list[Trial]:
    """The trials in an order that depends only on ``seed``.

    Each repeat is a block in which every server has its trial in every case at every level, so that
    a change of the machine during the run affects all of them. The pairs of case and level are
    shuffled in each block, and the servers within each pair: those that are compared run one
    after another. A server skips cases that it cannot run.
    """
    return [
        _trial(order, workload, target, case, level, repeat)
        for order, (repeat, case, level, target) in enumerate(_shuffled(workload, targets, seed), 1)
    ]


def _shuffled(
    workload: Workload, targets: Sequence[Target], seed: int
) -> Iterator[tuple[int, Case, float, Target]]:
    named = sorted(targets, key=lambda target: target.name)
    for repeat in range(1, workload.repeats + 1):
        draw = random.Random(f"{seed}, repeat {repeat}")
        pairs = [(case, level) for case in workload.case for level in workload.load.levels]
        draw.shuffle(pairs)
        for case, level in pairs:
            able = [target for target in named if can_run(target, case)]
            draw.shuffle(able)
            for target in able:
                yield repeat, case, level, target


def _trial(
    order: int, workload: Workload, target: Target, case: Case, level: float, repeat: int
) -> Trial:
    warmup = target.deployment.warmup if workload.warmup is None else workload.warmup
    warming = workload.warmup if workload.warmup is not None else 2 * max(warmup, _WARMING)
    if workload.load.model != "closed":
        warming += warmup
    load = workload.load.duration_of(level) or _UNKNOWN
    if workload.load.model == "capacity":
        load = (load + _BETWEEN) * _STEPS
    return Trial(order, target, case, level, repeat, warmup, _OVERHEAD + warming + load)
