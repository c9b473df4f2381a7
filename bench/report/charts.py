"""The charts of a run: bars at one level, curves over levels or cases, and of response times.

`charts.js` draws them, from the rows that the choices and filters of the page leave.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench.analysis.figures import FIGURES, ranking
from bench.analysis.standings import Row
from bench.records.result import Run
from bench.report.values import Values
from bench.report.wording import TIMES, times_name, title_of
from bench.workloads.load import UNITS, Model

Kind = Literal["bars", "percentiles", "steps", "levels", "cases"]


@dataclass(frozen=True)
class Chart:
    """One chart of a run."""

    kind: Kind
    figure: str  # The name of its values in a row's `figures`
    title: str
    unit: str
    descending: bool = False  # Whether the highest bar is the first
    over: str = ""  # The title of the x axis of levels


def charts_of(run: Run, rows: Sequence[Row], values: Values) -> list[Chart]:
    """The charts for which a run has data."""
    load, times = run.workload.load, times_name(run.workload.load.model)
    by_rate = f"{times}, {TIMES['p99']}, at the rates that were tried"
    charts = [_chart("bars", name, load.model) for name in (ranking(load).name, "cpu")]
    charts.append(Chart("steps", "steps", by_rate, "ms"))
    charts.append(Chart("percentiles", "percentiles", f"{times} by percentile", "ms"))
    if len(load.levels) > 1:
        first = ["p99", "rate"] if load.model == "constant rate" else ["rate", "p99"]
        failed = ["failed"] if any(row.errors.total for row in rows) else []
        charts += [_chart("levels", name, load.model) for name in [*first, *failed, "cpu", "peak"]]
    if len(run.workload.case) > 1:
        charts += [_chart("cases", name, load.model) for name in ("rate", "p99", "cpu", "peak")]
    return [chart for chart in charts if any(chart.figure in row["figures"] for row in values)]


def _chart(kind: Kind, name: str, model: Model) -> Chart:
    figure = FIGURES[name]
    descending = figure.better == "more"
    return Chart(kind, name, title_of(figure, model), figure.unit, descending, UNITS[model])
