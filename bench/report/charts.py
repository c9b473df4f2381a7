"""The charts: bars at one level, curves over levels or cases, and curves of response times.

Each is one Vega-Lite chart, to which the page passes its rows, so that choices and filters apply.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log10
from typing import Any, Literal

import altair as alt
from altair.utils.schemapi import debug_mode

from bench.analysis.figures import FIGURES, Row, ranking
from bench.records.result import Run
from bench.report.distribution import NINES
from bench.report.style import GROUND, INK, WARNING, color, finish
from bench.report.values import Values, of_figure
from bench.report.wording import TIMES, times_name, title_of
from bench.workloads.load import UNITS

Kind = Literal["bars", "percentiles", "steps", "levels", "cases"]

_HEIGHT = 320  # The height of a chart with curves, in pixels
_STEP = 12  # The distance between labels of curves, in pixels
_WIDE = 10  # The ratio of highest to lowest value above which a scale is logarithmic
# The offset of the figure from a bar's end: it follows the warning sign, if there is one
_AFTER_SIGN = "datum.warned ? 20 : 5"
# Fainter grid lines where a logarithmic scale has no label
_GRID: Any = {"condition": {"test": "datum.label", "value": 0.7}, "value": 0.2}
# Breaks a case's name into lines that fit a phone
_CASE_LINES = "split(datum.label, width < 300 ? ' ' : ', ')"
_PERCENTILE = "format(100 * (1 - pow(10, -{})), '.4~r') + '%'"
_PERCENTILES = _PERCENTILE.format("datum.value")  # The percentile of a number of nines
_NAME_LIMIT = "width < 300 ? 130 : 200"
# Whether a mark belongs to the highlighted server, or no server is highlighted
_LIT = alt.when("highlight == '' || highlight == datum.target")


@dataclass(frozen=True)
class Chart:
    """One chart of a run."""

    kind: Kind
    figure: str  # The name of its values in a row's `figures`
    title: str
    unit: str
    descending: bool = False  # Whether the highest bar is the first
    x: alt.X | None = None  # The x axis of a curve
    log: bool = False  # Whether the y axis of a curve is logarithmic

    @property
    def name(self) -> str:
        """Unique among the charts of a run."""
        return f"{self.figure}-{self.kind}"

    def draw(self) -> alt.LayerChart:
        """Draw the rows that the page will pass."""
        with debug_mode(False):  # Altair's checks take most of the time, and tests draw all charts
            height: alt.Step | int = _HEIGHT
            if self.x is None:
                layers, height = _bars(self), alt.Step(20)
            else:
                layers = _DRAWN[self.kind](self, self.x)
            pointed: Any = alt.param(name="highlight", value="").param
            data = alt.NamedData("rows")
            return finish(alt.LayerChart(layer=layers, data=data, height=height, params=[pointed]))


def charts_of(run: Run, rows: Sequence[Row], values: Values) -> list[Chart]:
    """The charts for which a run has data."""
    load = run.workload.load
    charts = [_chart("bars", name, run, values) for name in (ranking(load).name, "cpu")]
    times = times_name(load.model)
    rates = [step.rate for one in run.measurements for step in one.steps]
    kind: Any = "log" if rates and max(rates) > _WIDE * min(rates) else "linear"
    scale = alt.Scale(type=kind, zero=False if kind == "linear" else alt.Undefined, nice=False)
    x = alt.X("x:Q", title="requests/s", axis=_axis(labelOverlap=True), scale=scale)
    title = f"{times}, {TIMES['p99']}, at the rates that were tried"
    charts.append(Chart("steps", "steps", title, "ms", x=x, log=True))
    nines = [0, *(-log10(1 - share) for share in (0.5, 0.9, 0.95, 0.99, 0.999))]
    axis = alt.Axis(values=nines, grid=False, labelExpr=_PERCENTILES, labelFlush=False)
    x = alt.X("x:Q", title=None, scale=alt.Scale(domain=[0, NINES[-1]]), axis=axis)
    title = f"{times} by percentile"
    charts.append(Chart("percentiles", "percentiles", title, "ms", x=x, log=True))
    levels = sorted(load.levels)
    if len(levels) > 1:
        x = _levels_axis(levels, UNITS[load.model])
        failed = ["failed"] if any(row.errors.total for row in rows) else []
        names = ["rate", "p99", *failed, "cpu", "peak"]
        if load.model == "constant rate":
            names = ["p99", "rate", *failed, "cpu", "peak"]
        charts += [_chart("levels", name, run, values, x) for name in names]
    cases = [case.name for case in run.workload.case]
    if len(cases) > 1:
        axis = alt.Axis(title=None, labelAngle=0, labelExpr=_CASE_LINES)
        x = alt.X("case:N", sort=cases, scale=alt.Scale(padding=0.15), axis=axis)
        names = ["rate", "p99", "cpu", "peak"]
        charts += [_chart("cases", name, run, values, x) for name in names]
    return [chart for chart in charts if any(chart.figure in row["figures"] for row in values)]


def _chart(kind: Kind, name: str, run: Run, values: Values, x: alt.X | None = None) -> Chart:
    figure = FIGURES[name]
    title, descending = title_of(figure, run.workload.load.model), figure.better == "more"
    return Chart(
        kind, name, title, figure.unit, descending, x, x is not None and _wide(values, name)
    )


def _wide(values: Values, name: str) -> bool:
    """Whether curves need a logarithmic scale instead of one from zero."""
    found = [row[bound] for row in of_figure(values, name) for bound in ("low", "high")]
    return bool(found) and 0 < min(found) * _WIDE < max(found)


def _axis(**given: Any) -> alt.Axis:
    return alt.Axis(tickCount=5, format=",~r", domain=False, ticks=False, **given)


def _levels_axis(levels: list[float], title: str) -> alt.X:
    """The axis of levels, logarithmic if their distances differ too much for a linear one."""
    gaps = [right - left for left, right in pairwise(levels)]
    kind: Any = "log" if max(gaps) > 3 * min(gaps) else "linear"
    scale = alt.Scale(type=kind, nice=False, zero=False if kind == "linear" else alt.Undefined)
    axis = alt.Axis(values=levels, grid=False, labelOverlap=True, format=",~r")
    return alt.X("level:Q", title=title, scale=scale, axis=axis)


def _bars(chart: Chart) -> list[alt.Chart]:
    order: Any = "descending" if chart.descending else "ascending"
    base = alt.Chart().encode(
        y=alt.Y(
            "target:N",
            sort=alt.EncodingSortField("value", op="max", order=order),
            axis=alt.Axis(
                title=None,
                ticks=False,
                domain=False,
                labelPadding=6,
                labelLimit=alt.expr(_NAME_LIMIT),
            ),
        ),
        opacity=_LIT.then(alt.value(1)).otherwise(alt.value(0.15)),
        tooltip="tooltip:N",
    )
    text = base.mark_text(align="left", color=INK, fontSize=12, dx=alt.expr(_AFTER_SIGN))
    sign = base.mark_text(align="left", color=WARNING, fontSize=12, dx=5, text="⚠")
    arrow = base.transform_filter("datum.cut").mark_point(
        shape="triangle-right", size=40, filled=True, color=INK
    )
    dots = base.transform_flatten(["values"]).mark_point(
        size=14, strokeWidth=1, stroke=INK, fill=GROUND
    )
    return [
        base.mark_bar(cornerRadiusEnd=2, height=14).encode(
            x=alt.X("value:Q", axis=_axis(title=chart.unit)), color=color()
        ),
        base.mark_rule(color=INK, strokeWidth=1.5).encode(x="low:Q", x2="high:Q"),
        dots.encode(x="values:Q"),
        arrow.encode(x="high:Q"),
        text.encode(x="end:Q", text="label:N"),
        sign.transform_filter("datum.warned").encode(x="end:Q"),
    ]


def _curve_base() -> alt.Chart:
    base: alt.Chart = alt.Chart().encode(
        color=color(),
        opacity=_LIT.then(alt.value(1)).otherwise(alt.value(0.1)),
        detail="target:N",
        tooltip="tooltip:N",
    )
    return base


def _y(chart: Chart, field: str = "value") -> alt.Y:
    scale = alt.Scale(type="log" if chart.log else "linear", nice=False)
    axis = _axis(title=chart.unit, gridOpacity=_GRID, labelPadding=6)
    return alt.Y(f"{field}:Q", scale=scale, axis=axis)


def _figure_curves(chart: Chart, x: alt.X) -> list[alt.Chart]:
    """Curves of a figure with its intervals."""
    base, y = _curve_base(), _y(chart)
    fill = alt.when("datum.warned").then(alt.value(GROUND)).otherwise(color())
    return [
        base.mark_line(strokeWidth=1.75).encode(x=x, y=y),
        base.mark_rule(strokeWidth=1.75).encode(x=x, y=_y(chart, "low"), y2="high:Q"),
        base.mark_point(size=30, strokeWidth=1.75).encode(x=x, y=y, fill=fill),
        *_labels(base, "level" if chart.kind == "levels" else "caseAt", chart.log),
    ]


def _time_curves(chart: Chart, x: alt.X) -> list[alt.Chart]:
    """Curves of response times; at rates that were tried, a hollow point broke the limits."""
    text = "datum.target + ', ' + {} + (datum.over ? ': over the timeout' : {})"
    time = "': ' + format(datum.value, ',.3~r') + ' ms'"
    steps = chart.kind == "steps"
    where = "format(datum.x, ',.4~r') + ' requests/s'" if steps else _PERCENTILE.format("datum.x")
    base = (
        _curve_base()
        .transform_flatten(["x", "value", "over", *(["held", "repeat"] if steps else [])])
        .transform_calculate(low="datum.value", high="datum.value")
        .transform_calculate(tooltip=text.format(where, time))
    )
    y = _y(chart)
    line = base.mark_line(strokeWidth=1.75).encode(x=x, y=y)
    layers = [line.encode(detail=["target:N", "repeat:N"]) if steps else line]
    if steps:
        fill = alt.when("datum.held").then(color()).otherwise(alt.value(GROUND))
        limit = alt.Chart().mark_rule(color=WARNING, strokeDash=[4, 4])
        layers += [
            base.mark_point(size=30, strokeWidth=1.75).encode(x=x, y=y, fill=fill),
            limit.encode(y=_y(chart, "level")),
        ]
    else:
        layers.append(base.mark_point(size=40).encode(x=x, y=y, opacity=alt.value(0)))
    labels = _labels(base, "x", chart.log)
    return [*layers, *(labels[-1:] if steps else labels)]


_DRAWN = {
    "percentiles": _time_curves,
    "steps": _time_curves,
    "levels": _figure_curves,
    "cases": _figure_curves,
}


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
