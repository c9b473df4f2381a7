"""The charts: bars at one level, and curves over levels or cases.

Each is one Vega-Lite chart. A picture has its rows in it; those of the page come from the page, so
that choices and filters reach them.
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
"""Pixels of a chart with curves."""
_STEP = 12
"""Pixels from one label of a curve to the next."""
_WIDE = 10
"""How many times the lowest value the highest is before a scale is logarithmic."""
_AFTER_SIGN = "datum.warned ? 20 : 5"
"""Where the figure at a bar's end begins: after the sign of a warning, if there is one."""
_GRID: Any = {"condition": {"test": "datum.label", "value": 0.7}, "value": 0.2}
"""Lines without a number, which a logarithmic scale has, are fainter."""
_CASE_LINES = "split(datum.label, width < 300 ? ' ' : ', ')"
"""A case's name in several lines, so that a phone has room for it."""
_NAME_LIMIT = "width < 300 ? 130 : 200"
_LIT = alt.when("highlight == '' || highlight == datum.target")
"""Whether a mark's server is pointed at, if any is."""


@dataclass(frozen=True)
class Chart:
    """One chart of a run."""

    kind: Literal["bars", "levels", "cases"]
    figure: Figure
    x: alt.X | None = None
    """Along which a curve goes."""
    log: bool = False
    """Whether a curve's values are so far apart that only a logarithm shows them all."""

    @property
    def name(self) -> str:
        """As its files are called."""
        return f"{self.figure.name}-{self.kind}"

    def draw(
        self, style: Style, values: Values | None = None, title: str = "", subtitle: str = ""
    ) -> alt.LayerChart:
        """Draw it from these rows, or from those that the page will give."""
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
    """The charts in which a run has something to show."""
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
    """Whether curves need a logarithmic scale; others begin at zero."""
    values = [value for row in rows if (value := row.median(name)) is not None]
    lows = [row.estimates[name].low for row in rows if name in row.estimates]
    lowest = min([*values, *(low for low in lows if low is not None)], default=0)
    return 0 < lowest * _WIDE < max(values)


def values_of(run: Run, rows: Sequence[Row]) -> Values:
    """The rows as the page has them; :func:`of_figure` makes them what a chart takes."""
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
    """The rows that know this figure, with it alone."""
    return [row | row["figures"][name] for row in values if name in row["figures"]]


def _value(row: Row, figure: Figure) -> dict[str, Any]:
    told = row.estimates[figure.name]
    low, high = (told.median if bound is None else bound for bound in (told.low, told.high))
    return {
        "value": told.median,
        "low": low,
        "high": high,
        "label": figure_text(told.median),
        "told": f"{row.target}: {interval_text(told)} {figure.unit}",
    }


def _levels_axis(levels: list[float], unit: str) -> alt.X:
    """Logarithmic where levels are so far apart that it alone tells them from each other."""
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
        tooltip="told:N",
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
        tooltip="told:N",
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
    """Each server's name where its curve ends, moved as far as it takes not to overlap.

    From the lowest up, a label is at its curve's end or a step above the one below, which is
    ``step * n + max(end - step * n)`` over all up to the n-th; but so low that all above have room.
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
