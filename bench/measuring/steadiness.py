"""Whether a rate is level."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

_DRIFT = 0.05  # The share by which two parts of a level load may differ
_BATCHES = 8  # The most batches of windows
_LEAST_WINDOWS = 6  # The fewest windows that are divided into thirds


def drift(windows: Sequence[int]) -> float | None:
    """By which share the last third of a load differs from the first; None if it is level."""
    third = len(windows) // 3
    return change(windows[:third], windows[-third:]) if len(windows) >= _LEAST_WINDOWS else None


def change(before: Sequence[int], after: Sequence[int]) -> float | None:
    """By which share a rate has changed from some windows to others; None if it is level.

    It is level within 5%, or within twice the standard error of the difference: that of the means
    of batches of windows, as neighbours are alike, or of counting if that is larger (a steady
    load's counts have a Poisson distribution).
    """
    first, last = float(np.mean(before or [0])), float(np.mean(after or [0]))
    if not first:
        return 1.0 if last else None
    share, error = last / first - 1, sqrt(_variance(before) + _variance(after)) / first
    return share if abs(share) > max(_DRIFT, 2 * error) else None


def _variance(windows: Sequence[int]) -> float:
    """Of the mean."""
    if not windows:
        return 0.0
    counting = float(np.mean(windows)) / len(windows)
    means = [batch.mean() for batch in np.array_split(windows, min(_BATCHES, len(windows)))]
    own = float(np.var(means, ddof=1)) / len(means) if len(means) > 1 else 0.0
    return max(own, counting)
