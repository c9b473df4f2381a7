"""Compares the CPU time that a request takes on two builds of a server, measured in turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import spec
from bench import machine
from bench.disturbed import Disturbed
from bench.figures import FIGURES
from bench.generators import prepare as prepare_generator
from bench.measure import RunContext, measure
from bench.plan import Turn, turns
from bench.result import Measurement
from bench.statistics import ERROR, alone
from bench.workload import Case, Changes, Workload, load_workload
from harness.catalog import Target
from harness.console import say
from harness.errors import TaskError
from harness.locks import locked
from harness.paths import RUN
from harness.services import Services

PATHS = ("/index", "/mongo", "/agents")
PAIRS = 7
"""The fewest pairs with which the intervals of three paths hold together at 95%."""
_SECONDS, _CONNECTIONS = 2, 16

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Comparison:
    """The CPU time of one request, in µs, before and after a change."""

    path: str
    before: float
    after: float
    """Medians."""
    ratio: float
    """The median of the pairs' ratios, after divided by before."""
    low: float
    high: float
    """A 95% interval for the median ratio, together with those of the other paths; the lowest and
    the highest ratio if there are too few pairs for that."""
    is_interval: bool
    pairs: int

    @property
    def verdict(self) -> str:
        """``less``, ``more``, or that neither is shown."""
        if not self.is_interval:
            return "too few pairs to tell"
        return "less" if self.high < 1 else "more" if self.low > 1 else "no difference shown"


def compare(
    path: str, before: Sequence[float], after: Sequence[float], intervals: int = 1
) -> Comparison:
    """Compare pairs of measurements; so many intervals hold together (Bonferroni)."""
    ratios = [new / old for old, new in zip(before, after, strict=True)]
    found = alone(ratios, ERROR / intervals)
    return Comparison(
        path=path,
        before=median(before),
        after=median(after),
        ratio=found.value,
        low=found.low,
        high=found.high,
        is_interval=found.kind == "interval",
        pairs=len(ratios),
    )


def measure_pairs(
    old: Target, new: Target, backing: Services, pairs: int, progress: Progress
) -> list[Comparison]:
    """Measure two builds in turn, which of them is first changing from pair to pair."""
    machine.raise_limits()
    parts = new.server.manifest.parts
    paths = [path for path in PATHS if parts is None or spec.part_of(path) in parts]
    found: dict[str, tuple[list[float], list[float]]] = {path: ([], []) for path in paths}
    with locked(RUN / "locks" / "measuring"):
        for pair in range(1, pairs + 1):
            for path, values in found.items():
                sides = list(zip((old, new), values, strict=True))
                for target, side in sides if pair % 2 else reversed(sides):
                    progress(f"{path}, pair {pair} of {pairs}")
                    side.append(_cpu(target, path, backing))
    return [compare(path, *values, len(paths)) for path, values in found.items()]


def _cpu(target: Target, path: str, backing: Services) -> float:
    plan = _workload(target, path)
    prepare_generator(plan.load)
    context = RunContext(plan, backing, spec.FILES, plan.paths)
    value = FIGURES["cpu"].of(_measured(turns(plan, [target], seed=0)[0], context))
    if value is None:
        raise TaskError(f"{target.name} answered no request to {path} under load")
    return value


def _measured(turn: Turn, context: RunContext) -> Measurement:
    """Measure a turn, a second time if the machine disturbed the first."""
    try:
        return measure(turn, context)
    except Disturbed as error:
        say(f"measuring again: {error}")
        return measure(turn, context)


def _workload(target: Target, path: str) -> Workload:
    changes = Changes(
        levels=[_CONNECTIONS],
        duration=_SECONDS,
        repeats=1,
        warmup=max(target.deployment.warmup, 1.0),
    )
    case = Case(name="1 worker", settings={"WORKERS": "1"})
    return (
        load_workload("text").changed(changes).model_copy(update={"paths": [path], "case": [case]})
    )
