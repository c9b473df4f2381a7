"""Response times as curves: over percentiles, and over the rates of a search for the capacity."""

from collections.abc import Sequence
from typing import Any

from bench.records.histogram import merged
from bench.records.measurement import Measurement

# The percentiles of a curve, as the number of nines: 1 is 90%, 2 is 99%, 3 is 99.9%
NINES = [round(0.1 * at, 1) for at in range(31)]


def by_percentile(repeats: Sequence[Measurement], timeout: float) -> dict[str, Any] | None:
    """The curve over all requests of all repeats; None without a histogram.

    A failed request counts as longer than any response: percentiles that fall on one are drawn at
    the timeout (in seconds).
    """
    counted = merged(one.histogram for one in repeats)
    if not len(counted):
        return None
    failed = sum(one.errors.total for one in repeats)
    return _curve(NINES, counted.times([1 - 10**-nines for nines in NINES], failed), timeout)


def by_rate(repeats: Sequence[Measurement], timeout: float) -> dict[str, Any] | None:
    """The 99th percentile at each rate that was tried, in all repeats; None without such steps."""
    steps = [
        (one.repeat, step)
        for one in repeats
        for step in sorted(one.steps, key=lambda step: step.rate)
    ]
    if not steps:
        return None
    curve = _curve([step.rate for _, step in steps], [step.p99 for _, step in steps], timeout)
    return curve | {
        "held": [step.held for _, step in steps],
        "repeat": [repeat for repeat, _ in steps],
    }


def _curve(
    x: Sequence[float], times: Sequence[float | None], timeout: float
) -> dict[str, list[Any]]:
    shown = [timeout * 1e3 if time is None else time for time in times]
    return {
        "x": list(x),
        "value": [float(f"{time:.4g}") for time in shown],
        "over": [time is None for time in times],
    }
