"""Estimates of one server's figure, and the ratio of a figure between two runs.

:mod:`bench.analysis.blocks` compares the servers of one run.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, t

ERROR = 0.05
"""The share of runs in which any of the intervals may be wrong: 95% intervals."""

ROUNDING = 1e-9
"""Differences of logarithms below this are not noise, but rounding."""

Kind = Literal["interval", "range", "single"]


@dataclass(frozen=True)
class Estimate:
    """A figure of one server over its repeats.

    ``low`` and ``high`` depend on the kind:

    - ``interval``: a 95% interval, simultaneous over the servers and tables of a run;
    - ``range``: the lowest and the highest repeat, where the design cannot give an interval;
    - ``single``: the only repeat.
    """

    value: float
    low: float
    high: float
    kind: Kind
    values: tuple[float, ...]
    """Of each repeat; infinite where a latency is over the timeout."""


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


def alone(values: Sequence[float], error: float = ERROR) -> Estimate:
    """The median of repeats that share no noise with other servers, so that nothing is pooled.

    Its interval is distribution-free, between two ranks. It exists from six repeats on, if a
    single one is shown (Georges, Buytaert and Eeckhout, Statistically rigorous Java performance
    evaluation, 2007, warn against normal intervals of few repeats); below, this is the range.
    """
    ordered = sorted(values)
    rank = int(binom.ppf(error / 2, len(values), 0.5))
    kind: Kind = "single" if len(values) == 1 else "interval" if rank else "range"
    low, high = ordered[max(rank, 1) - 1], ordered[-max(rank, 1)]
    return Estimate(statistics.median(values), low, high, kind, tuple(values))


def between_runs(
    before: Sequence[float], after: Sequence[float], error: float = ERROR
) -> Ratio | None:
    """The ratio after/before of the geometric means of a figure's repeats in two runs.

    Repeats of two runs are not the same blocks, so nothing cancels: the interval, Welch's on the
    logarithms, includes the noise within and between the blocks of each run. It cannot include a
    change of the machine from one run to the other, of which there is a single observation
    (Kalibera and Jones, Rigorous benchmarking in reasonable time, 2013: repeat at the highest
    level that varies).

    None if a run has fewer than two repeats.
    """
    if min(len(before), len(after)) < 2:
        return None
    old, new = np.log(before), np.log(after)
    middle = float(new.mean() - old.mean())
    if max(np.ptp(old), np.ptp(new)) < ROUNDING:
        only = math.exp(middle) if abs(middle) > ROUNDING else 1.0
        return Ratio(only, only, only)
    parts = [float(logs.var(ddof=1)) / len(logs) for logs in (old, new)]
    each = zip(parts, (old, new), strict=True)
    freedom = sum(parts) ** 2 / sum(part**2 / (len(logs) - 1) for part, logs in each)
    half = float(t.isf(error / 2, freedom)) * math.sqrt(sum(parts))
    return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half))


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
