"""The median of repeats, and its confidence interval."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

_RESAMPLES = 5_000
_SEED = 1


@dataclass(frozen=True)
class Estimate:
    """A median with its 95% interval; a single repeat has none."""

    median: float
    low: float | None
    high: float | None
    repeats: int

    def overlaps(self, other: "Estimate") -> bool:
        """Whether the two cannot be distinguished: their intervals overlap, or one has none."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return self.low <= other.high and other.low <= self.high


def estimate(values: Sequence[float]) -> Estimate:
    """The median of the repeats, with its percentile bootstrap interval.

    Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13. The resampling is
    seeded: the same values always give the same interval.
    """
    if len(values) < 2:
        return Estimate(values[0], None, None, len(values))
    ordered = sorted(values)
    medians = sorted((ordered[a] + ordered[b]) / 2 for a, b in _middles(len(values)))
    low, high = medians[round(0.025 * _RESAMPLES)], medians[round(0.975 * _RESAMPLES) - 1]
    return Estimate(statistics.median(values), low, high, len(values))


@cache
def _middles(count: int) -> list[tuple[int, int]]:
    """The two middle ranks of each resample of ``count`` sorted values."""
    draw = random.Random(_SEED)
    drawn = (sorted(draw.choices(range(count), k=count)) for _ in range(_RESAMPLES))
    return [(one[(count - 1) // 2], one[count // 2]) for one in drawn]
