"""The overview as an image, for a README."""

import textwrap
from typing import Any

import altair as alt

from bench.report.overview import Table
from bench.report.wording import share_text

# Pixels; wider where names are, which take more room in some fonts
_INK, _QUIET, _GROUND = "#1b1f24", "#59636e", "#ffffff"
_PADDING = {"left": 32, "top": 16, "right": 16, "bottom": 16}


def draw_overview(table: Table) -> dict[str, Any]:
    """A chart of the servers' shares of the best, by workload."""
    titles = ["\n".join(textwrap.wrap(column.title, _WIDTH)) for column in table.columns]
    values = [
        {
            "target": target,
            "workload": title,
            "share": share,
            "label": share_text(share),
            "standing": column.standing(target),
        }
        for title, column in zip(titles, table.columns, strict=True)
        for target in table.servers
        if (share := column.share(target)) is not None
    ]
    base = alt.Chart(alt.InlineData(values)).encode(
        x=alt.X(
            "workload:N",
            sort=titles,
            axis=alt.Axis(
                title=None,
                orient="top",
                labelAngle=0,
                labelLimit=110,
                labelExpr=_LINES,
                labelPadding=4 + _LINE * max(title.count("\n") for title in titles),
                domain=False,
                ticks=False,
            ),
        ),
        y=alt.Y(
            "target:N",
            sort=list(table.servers),
            axis=alt.Axis(title=None, domain=False, ticks=False, labelLimit=200),
        ),
    )
    scale = alt.Scale(domain=[0, 1], range=["#f3f6fa", "#7fb0e4"])
    cells = base.mark_rect(stroke=_GROUND, strokeWidth=2).encode(
        color=alt.Color("share:Q", scale=scale, legend=None)
    )
    marked = [
        base.mark_rect(fill=fill, stroke=_GROUND, strokeWidth=2).transform_filter(
            alt.FieldOneOfPredicate(field="standing", oneOf=standings)
        )
        for fill, standings in (("#8fd1a8", ["best", "tied"]), ("#dcdfe3", ["noisy"]))
    ]
    text = base.mark_text(color=_INK, fontSize=12).encode(text="label:N")
    chart = alt.layer(cells, *marked, text).properties(width=alt.Step(110), height=alt.Step(22))
    subtitle = f"{table.heading}; green: the best, and those tied with it; grey: too noisy to rank"
    title = alt.TitleParams(
        "Speed relative to the best server of each workload",
        subtitle=subtitle,
        color=_INK,
        subtitleColor=_QUIET,
        anchor="start",
        fontSize=15,
        offset=12,
    )
    drawn: dict[str, Any] = (
        chart.properties(title=title, background=_GROUND)
        .configure(font="system-ui, sans-serif", padding=_PADDING)
        .configure_view(stroke=None)
        .configure_axis(labelColor=_QUIET, labelFontSize=12)
        .to_dict()
    )
    return drawn


_LINES = r"split(datum.label, '\n')"
_WIDTH = 17  # Characters of a title's line
_LINE = 15  # Pixels from line to line
