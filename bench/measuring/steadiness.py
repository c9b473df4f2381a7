"""Whether a rate is level, and the warm-up that goes on until it is.

Georges, Buytaert and Eeckhout, Statistically rigorous Java performance evaluation (2007), measure
at steady state; Barrett and others, Virtual machine warmup blows hot and cold (2017), show that it
takes minutes, or never comes.
"""

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np

from bench.generators.interface import LoadResult
from bench.records.measurement import Warmup

LONGEST = 120.0  # The most seconds of a warm-up; on a JVM each trial may take that long
_STAGE = 1.0  # The fewest seconds of its first stage
_REQUESTS = 2_000  # The fewest requests of a warm-up, unless it takes
_SECONDS = 15.0  # as long as this
_DRIFT = 0.05  # The share by which two parts of a level load may differ
_BATCHES = 8  # The most batches of windows
_LEAST_WINDOWS = 6  # The fewest windows that are divided into thirds


def warm_up(
    put: Callable[[float], LoadResult], least: float, longest: float = LONGEST
) -> tuple[list[LoadResult], Warmup]:
    """Put load on a server until its rate is level; ``put`` does so for some seconds.

    Each stage is as long as all before it, so that a slow rise is seen as well as a quick one: the
    rate is level if it was no higher in the last stage than in the one before, but for the noise.
    """
    spent, is_level = min(max(least, _STAGE), longest), False
    stages = [put(spent)]
    while not is_level and spent < longest:
        length = min(spent, longest - spent)
        stages.append(put(length))
        spent += length
        enough = spent >= _SECONDS or sum(one.requests for one in stages) >= _REQUESTS
        # The first window of each stage is that in which its connections are opened
        rise = change(stages[-2].windows[1:], stages[-1].windows[1:]) or 0
        is_level = enough and rise <= 0
    requests, until = (sum(one.requests for one in some) for some in (stages, stages[:-2]))
    return stages, Warmup(seconds=spent, requests=requests, until_level=until if is_level else None)


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
