"""Response times as curves: over percentiles, and over the rates of a search for the capacity."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from bench.result import Measurement

NINES = [round(0.1 * at, 1) for at in range(31)]
"""The percentiles of a curve, as the number of nines: 1 is 90%, 2 is 99%, 3 is 99.9%."""


def by_percentile(repeats: Sequence[Measurement], timeout: float) -> dict[str, Any] | None:
    """The curve over all requests of all repeats; None if a repeat has no histogram.

    A failed request counts as longer than any response: percentiles that fall on one are drawn at
    the timeout (in seconds).
    """
    if not repeats or not all(one.histogram for one in repeats):
        return None
    merged = HdrHistogram.decode(repeats[0].histogram)
    for one in repeats[1:]:
        merged.add(HdrHistogram.decode(one.histogram))
    answered = merged.get_total_count()
    requests = answered + sum(one.errors.total for one in repeats)
    if not requests:
        return None
    ranks = [max(1, ceil(round((1 - 10**-nines) * requests, 6))) for nines in NINES]
    shares = {rank: 100 * rank / answered for rank in ranks if rank <= answered}
    known = merged.get_percentile_to_value_dict(list(shares.values())) if shares else {}
    times = [known[shares[rank]] / 1e3 if rank in shares else timeout * 1e3 for rank in ranks]
    return _curve(NINES, times, [rank not in shares for rank in ranks])


def by_rate(repeats: Sequence[Measurement], timeout: float) -> dict[str, Any] | None:
    """The 99th percentile at each rate that was tried, in all repeats; None without such steps."""
    steps = [
        (one.repeat, step)
        for one in repeats
        for step in sorted(one.steps, key=lambda step: step.rate)
    ]
    if not steps:
        return None
    times = [timeout * 1e3 if step.p99 is None else step.p99 for _, step in steps]
    curve = _curve([step.rate for _, step in steps], times, [step.p99 is None for _, step in steps])
    return curve | {
        "held": [step.held for _, step in steps],
        "repeat": [repeat for repeat, _ in steps],
    }


def _curve(x: Sequence[float], times: Sequence[float], over: Sequence[bool]) -> dict[str, Any]:
    return {"x": list(x), "value": [float(f"{time:.4g}") for time in times], "over": list(over)}
