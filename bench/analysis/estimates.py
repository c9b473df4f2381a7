"""Estimates, differences and ratios, with their intervals.

:mod:`bench.analysis.blocks` compares the servers of one run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

# The share of runs in which any of the intervals may be wrong: 95% intervals
ERROR = 0.05

# Differences of logarithms below this are not noise, but rounding
ROUNDING = 1e-9

Kind = Literal["interval", "range", "single"]


@dataclass(frozen=True)
class Estimate:
    """A figure of one server over its repeats: their geometric mean.

    ``low`` and ``high`` depend on the kind:

    - ``interval``: an interval that holds with all others of the run, in 95% of runs;
    - ``range``: the lowest and the highest repeat, where values have no logarithm, or are too few
      or too noisy for an interval;
    - ``single``: the only repeat.
    """

    value: float
    low: float
    high: float
    kind: Kind
    # Of each repeat; infinite where a latency is over the timeout
    values: tuple[float, ...]

    @classmethod
    def without_interval(cls, value: float, values: Sequence[float]) -> "Estimate":
        """Of these repeats, from the lowest to the highest."""
        kind: Kind = "single" if len(values) == 1 else "range"
        return cls(value, min(values), max(values), kind, tuple(values))


@dataclass(frozen=True)
class Ratio:
    """A ratio with its interval."""

    value: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Whether the interval excludes 1."""
        return not self.low <= 1 <= self.high


@dataclass(frozen=True)
class Difference:
    """A difference of two logarithms."""

    middle: float
    deviation: float  # Its standard error
    freedom: float  # The degrees of freedom of that

    def ratio(self, error: float = ERROR) -> Ratio:
        """The ratio, whose interval is wrong with this chance; it ends at infinity if need be."""
        quantile = -stdtrit(self.freedom, error / 2)
        half = float(quantile * self.deviation) if self.freedom else math.inf
        with np.errstate(over="ignore"):
            return Ratio(*np.exp([self.middle, self.middle - half, self.middle + half]).tolist())

    def chance_above(self, ratio: float) -> float:
        """The chance of a difference as large as this one, if the ratio were no larger than
        ``ratio``: the p-value of a one-sided test."""
        apart = self.middle - math.log(ratio)
        if self.deviation < ROUNDING:
            return float(apart <= 0)
        return float(stdtr(self.freedom, -apart / self.deviation))

    def __neg__(self) -> "Difference":
        return Difference(-self.middle, self.deviation, self.freedom)


def mean_of(values: Sequence[float]) -> float:
    """The geometric mean; infinite if one value is."""
    with np.errstate(divide="ignore"):  # the mean is 0 if one value is
        return math.exp(np.log(values).mean())


def between_runs(before: Sequence[float], after: Sequence[float]) -> Difference | None:
    """The logarithm of after/before, of the geometric means of a figure's repeats in two runs.

    Repeats of two runs are not the same blocks, so nothing cancels: Welch's standard error
    includes the noise within and between the blocks of each run. It cannot include a change of the
    machine from one run to the other, of which there is a single observation (Kalibera and Jones,
    Rigorous benchmarking in reasonable time, 2013: repeat at the highest level that varies).

    None if a run has fewer than two repeats.
    """
    if min(len(before), len(after)) < 2:
        return None
    old, new = np.log(before), np.log(after)
    middle = float(new.mean() - old.mean())
    parts = [float(logs.var(ddof=1)) / len(logs) for logs in (old, new)]
    if sum(parts) < ROUNDING**2:
        return Difference(middle if abs(middle) > ROUNDING else 0.0, 0.0, math.inf)
    each = zip(parts, (old, new), strict=True)
    freedom = sum(parts) ** 2 / sum(part**2 / (len(logs) - 1) for part, logs in each)
    return Difference(middle, math.sqrt(sum(parts)), freedom)


def bounded(values: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """The values, changed so that each has a logarithm.

    A value over the timeout counts as the longest value, ``most`` or longer; a zero as half of the
    lowest positive value. Both make a difference smaller than it is.
    """
    finite = values[np.isfinite(values)]
    positive = finite[finite > 0]
    longest = max([*finite, most]) if math.isfinite(most) else max(finite, default=1.0)
    least = float(positive.min()) / 2 if positive.size else 1.0
    changed: NDArray[np.float64] = np.where(np.isposinf(values), longest, values)
    return np.where(changed <= 0, least, changed)
