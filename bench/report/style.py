"""The style of charts, whose colours the page's CSS sets."""

from typing import get_args

import altair as alt

from harness.servers.manifest import Deployment

# The concurrency models; each has a colour
MODELS: tuple[str, ...] = get_args(Deployment.model_fields["model"].annotation)
INK, QUIET, LINE, GROUND = "var(--ink)", "var(--quiet)", "var(--line)", "var(--ground)"
WARNING = "var(--warning)"
_COLORS = [f"var(--model-{at})" for at in range(len(MODELS))]


def color() -> alt.Color:
    """The colour of a mark, by concurrency model; the filters are the legend."""
    scale = alt.Scale(domain=list(MODELS), range=_COLORS)
    return alt.Color("model:N", scale=scale, legend=None)


def finish(chart: alt.LayerChart) -> alt.LayerChart:
    """Apply the style; the page has captions instead of titles."""
    autosize = alt.AutoSizeParams(type="fit-x", contains="padding")
    shown = chart.properties(width="container", background="transparent", autosize=autosize)
    finished: alt.LayerChart = (
        shown.configure(font="system-ui, sans-serif", padding=0)
        .configure_view(stroke=None)
        .configure_axis(
            domainColor=LINE,
            gridColor=LINE,
            tickColor=LINE,
            labelColor=QUIET,
            titleColor=QUIET,
            titleFontWeight="normal",
            labelFontSize=12,
            titleFontSize=12,
        )
    )
    return finished
