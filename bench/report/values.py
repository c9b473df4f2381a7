"""The rows of a run in the format of the page and of the charts.

Response times are curves: over percentiles, and over the rates of a search for the capacity.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from bench.analysis.figures import FIGURES, Figure
from bench.analysis.standings import Row
from bench.analysis.words import figure_text, interval_text
from bench.records.histogram import merged
from bench.records.measurement import Measurement
from bench.records.result import Run

Values = list[dict[str, Any]]

# How far an interval reaches beyond the repeats before it is cut: a chart must show the bars
_CUT = 1.5
# The percentiles of a curve, as the number of nines: 1 is 90%, 2 is 99%, 3 is 99.9%
NINES = [round(0.1 * at, 1) for at in range(31)]


def values_of(run: Run, rows: Sequence[Row]) -> Values:
    """The rows in the page's format; for a chart, it adds the figure's own fields to a row's."""
    cases = [case.name for case in run.workload.case]
    timeout = run.workload.load.timeout
    return [
        {
            "target": row.target,
            "language": run.servers[row.target].language,
            "model": run.servers[row.target].model,
            "case": row.case,
            "caseAt": cases.index(row.case),
            "level": row.level,
            "warned": any(doubt.matters for doubt in row.warnings),
            "figures": {name: _value(row, FIGURES[name], timeout) for name in row.estimates}
            | _response_times(row.repeats, timeout),
        }
        for row in rows
    ]


def _value(row: Row, figure: Figure, timeout: float) -> dict[str, Any]:
    """A figure; a latency over the timeout is drawn at it."""
    estimate = row.estimates[figure.name]
    most = timeout * 1e3
    value, low, high, *values = (
        one if isfinite(one) else most
        for one in (estimate.value, estimate.low, estimate.high, *estimate.values)
    )
    longest = _CUT * max(value, *values)
    return {
        "value": value,
        "low": max(low, min(value, *values) / _CUT),
        "high": min(high, longest),
        "cut": high > longest,
        "end": min(max(high, *values), longest),
        "values": values,
        "label": figure_text(estimate.value),
        "tooltip": f"{row.target}: {interval_text(estimate)} {figure.unit}",
    }


def _response_times(repeats: Sequence[Measurement], timeout: float) -> dict[str, Any]:
    found = {"percentiles": by_percentile(repeats, timeout), "steps": by_rate(repeats, timeout)}
    return {name: curve for name, curve in found.items() if curve}


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
