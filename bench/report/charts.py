"""The charts: bars at one level, and curves over levels or cases.

Each is one Vega-Lite chart. An image file embeds its rows; the page passes rows to its charts, so
that choices and filters apply to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import altair as alt

from bench.figures import FIGURES, Figure, Row
from bench.report.style import Style
from bench.result import Run
from bench.words import figure_text, interval_text
from bench.workload import UNITS

Values = list[dict[str, Any]]

_HEIGHT = 320
"""The height of a chart with curves, in pixels."""
_STEP = 12
"""The distance between labels of curves, in pixels."""
_WIDE = 10
"""The ratio of highest to lowest value above which a scale is logarithmic."""
_AFTER_SIGN = "datum.warned ? 20 : 5"
"""The offset of the figure from a bar's end: it follows the warning sign, if there is one."""
_GRID: Any = {"condition": {"test": "datum.label", "value": 0.7}, "value": 0.2}
"""Fainter grid lines where a logarithmic scale has no label."""
_CASE_LINES = "split(datum.label, width < 300 ? ' ' : ', ')"
"""Breaks a case's name into lines that fit a phone."""
_NAME_LIMIT = "width < 300 ? 130 : 200"
_LIT = alt.when("highlight == '' || highlight == datum.target")
"""Whether a mark belongs to the highlighted server, or no server is highlighted."""


@dataclass(frozen=True)
class Chart:
    """One chart of a run."""

    kind: Literal["bars", "levels", "cases"]
    figure: Figure
    x: alt.X | None = None
    """The x axis of a curve."""
    log: bool = False
    """Whether the y axis of a curve is logarithmic."""

    @property
    def name(self) -> str:
        """The name that its files are based on."""
        return f"{self.figure.name}-{self.kind}"

    def draw(
        self, style: Style, values: Values | None = None, title: str = "", subtitle: str = ""
    ) -> alt.LayerChart:
        """Draw these rows, or those that the page will pass."""
        data = alt.NamedData("rows") if values is None else alt.InlineData(values)
        height: alt.Step | int
        if self.x is None:
            layers, height = _bars(self.figure, style), alt.Step(20)
        else:
            last = "level" if self.kind == "levels" else "caseAt"
            layers, height = _curves(self, self.x, last, style), _HEIGHT
        pointed: Any = alt.param(name="highlight", value="").param
        chart = alt.LayerChart(layer=layers, data=data, height=height, params=[pointed])
        return style.finish(chart, title, subtitle)


def charts_of(run: Run, rows: Sequence[Row]) -> list[Chart]:
    """The charts for which a run has data."""
    load = run.workload.load
    given_rate = ["p99"] if load.model != "closed" else []
    charts = [Chart("bars", FIGURES[name]) for name in ("rate", *given_rate, "cpu")]
    levels = sorted(load.levels)
    if len(levels) > 1:
        x = _levels_axis(levels, UNITS[load.model])
        failed = ["failed"] if any(row.errors.total for row in rows) else []
        names = ["rate", "p99", *failed, "cpu", "peak"]
        charts += [Chart("levels", FIGURES[name], x, _is_wide(rows, name)) for name in names]
    cases = [case.name for case in run.workload.case]
    if len(cases) > 1:
        axis = alt.Axis(title=None, labelAngle=0, labelExpr=_CASE_LINES)
        x = alt.X("case:N", sort=cases, scale=alt.Scale(padding=0.15), axis=axis)
        names = ["rate", "p99", "cpu", "peak"]
        charts += [Chart("cases", FIGURES[name], x, _is_wide(rows, name)) for name in names]
    return [chart for chart in charts if any(chart.figure.name in row.estimates for row in rows)]


def _is_wide(rows: Sequence[Row], name: str) -> bool:
    """Whether curves need a logarithmic scale instead of one from zero."""
    values = [value for row in rows if (value := row.value(name)) is not None]
    lowest = min((row.estimates[name].low for row in rows if name in row.estimates), default=0)
    return 0 < lowest * _WIDE < max(values)


def values_of(run: Run, rows: Sequence[Row]) -> Values:
    """The rows in the page's format; :func:`of_figure` converts them for a chart."""
    cases = [case.name for case in run.workload.case]
    return [
        {
            "target": row.target,
            "language": run.servers[row.target].language,
            "model": run.servers[row.target].model,
            "case": row.case,
            "caseAt": cases.index(row.case),
            "level": row.level,
            "warned": bool(row.warnings),
            "figures": {name: _value(row, FIGURES[name]) for name in row.estimates},
        }
        for row in rows
    ]


def of_figure(values: Values, name: str) -> Values:
    """The rows that have this figure, in the format of a chart."""
    return [row | row["figures"][name] for row in values if name in row["figures"]]


def _value(row: Row, figure: Figure) -> dict[str, Any]:
    estimate = row.estimates[figure.name]
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "label": figure_text(estimate.value),
        "tooltip": f"{row.target}: {interval_text(estimate)} {figure.unit}",
    }


def _levels_axis(levels: list[float], unit: str) -> alt.X:
    """The axis of levels, logarithmic if their distances differ too much for a linear one."""
    gaps = [right - left for left, right in pairwise(levels)]
    kind: Any = "log" if max(gaps) > 3 * min(gaps) else "linear"
    scale = alt.Scale(type=kind, nice=False, zero=False if kind == "linear" else alt.Undefined)
    axis = alt.Axis(values=levels, grid=False, labelOverlap=True, format=",~r")
    return alt.X("level:Q", title=unit, scale=scale, axis=axis)


def _bars(figure: Figure, style: Style) -> list[alt.Chart]:
    order: Any = "descending" if figure.better == "more" else "ascending"
    base = alt.Chart().encode(
        y=alt.Y(
            "target:N",
            sort=alt.EncodingSortField("value", op="max", order=order),
            axis=alt.Axis(title=None, ticks=False, domain=False, labelLimit=alt.expr(_NAME_LIMIT)),
        ),
        opacity=_LIT.then(alt.value(1)).otherwise(alt.value(0.15)),
        tooltip="tooltip:N",
    )
    axis = alt.Axis(title=figure.unit, tickCount=4, format=",~r", domain=False, ticks=False)
    text = base.mark_text(align="left", color=style.ink, fontSize=12, dx=alt.expr(_AFTER_SIGN))
    sign = base.mark_text(align="left", color=style.warning, fontSize=12, dx=5, text="⚠")
    return [
        base.mark_bar(cornerRadiusEnd=2, height=14).encode(
            x=alt.X("value:Q", axis=axis), color=style.color()
        ),
        base.mark_rule(color=style.ink, strokeWidth=1.5).encode(x="low:Q", x2="high:Q"),
        text.encode(x="high:Q", text="label:N"),
        sign.transform_filter("datum.warned").encode(x="high:Q"),
    ]


def _curves(chart: Chart, x: alt.X, last: str, style: Style) -> list[alt.Chart]:
    base = alt.Chart().encode(
        color=style.color(),
        opacity=_LIT.then(alt.value(1)).otherwise(alt.value(0.1)),
        detail="target:N",
        tooltip="tooltip:N",
    )
    scale = alt.Scale(type="log" if chart.log else "linear", nice=False)
    axis = alt.Axis(title=chart.figure.unit, tickCount=5, format=",~r", domain=False, ticks=False)
    axis.gridOpacity, axis.labelPadding = _GRID, 6
    y = alt.Y("value:Q", scale=scale, axis=axis)
    fill = alt.when("datum.warned").then(alt.value(style.hollow)).otherwise(style.color())
    return [
        base.mark_line(strokeWidth=1.75).encode(x=x, y=y),
        base.mark_rule(strokeWidth=1.75).encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_point(size=30, strokeWidth=1.75).encode(x=x, y=y, fill=fill),
        *_labels(base, last, chart.log),
    ]


def _labels(base: alt.Chart, last: str, log: bool) -> list[alt.Chart]:
    """Each server's name at the end of its curve, moved just enough not to overlap others.

    From the bottom up, a label is at its curve's end or a step above the label below: the n-th is
    at ``step * n + max(end - step * n)``, with the maximum over the first n labels, but low enough
    to leave room for those above.
    """
    end = "datum.top ? datum.value / datum.top : 0"
    if log:
        span = "log(datum.top / datum.bottom)"
        end = f"datum.top > datum.bottom ? log(datum.value / datum.bottom) / {span} : 0.5"
    room = f"max({_HEIGHT} - {_STEP} * datum.all, -{_STEP})"
    upward: list[Any] = [alt.SortField("end"), alt.SortField("target")]
    placed = (
        base.transform_joinaggregate(top="max(high)", bottom="min(low)")
        .transform_joinaggregate(last=f"max({last})", groupby=["target"])
        .transform_filter(f"datum.last == datum.{last}")
        .transform_joinaggregate(all="count()")
        .transform_calculate(end=f"{_HEIGHT} * ({end})")
        .transform_window(n="row_number()", sort=upward)
        .transform_calculate(slack=f"datum.end - {_STEP} * datum.n")
        .transform_window(most="max(slack)", sort=upward)
        .transform_calculate(up=f"{_STEP} * datum.n + min(datum.most, {room})")
    )
    leader = "'M4,0 L18,' + (datum.end - datum.up)"
    return [
        placed.mark_point(
            shape=alt.expr(leader),
            size=4,
            strokeWidth=0.75,
            x=alt.expr("width"),
            y=alt.expr(f"{_HEIGHT} - datum.end"),
            fill=None,
        ),
        placed.mark_text(
            align="left",
            baseline="middle",
            fontSize=11,
            limit=150,
            x=alt.expr("width + 21"),
            y=alt.expr(f"{_HEIGHT} - datum.up"),
        ).encode(text="target:N"),
    ]
