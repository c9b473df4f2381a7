"""The rows of a run in the format of the page and of the charts."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from bench.analysis.figures import FIGURES, Figure, Row
from bench.analysis.words import figure_text, interval_text
from bench.records.measurement import Measurement
from bench.records.result import Run
from bench.report.distribution import by_percentile, by_rate

Values = list[dict[str, Any]]

# How far an interval reaches beyond the repeats before it is cut: a chart must show the bars
_CUT = 1.5


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
