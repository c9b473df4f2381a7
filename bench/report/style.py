"""The style of charts, in the page, whose CSS sets the colours, and in image files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import altair as alt

from harness.servers.manifest import Deployment

MODELS: tuple[str, ...] = get_args(Deployment.model_fields["model"].annotation)
"""The concurrency models; each has a colour."""


@dataclass(frozen=True)
class Style:
    """The colours and width of a chart."""

    ink: str
    quiet: str
    line: str
    background: str
    """The background."""
    warning: str
    hollow: str
    """The fill of hollow points."""
    models: Sequence[str]
    """The colours of :data:`MODELS`."""
    width: int | Literal["container"]
    legend: bool

    def color(self) -> alt.Color:
        """The colour of a mark, by concurrency model."""
        legend = alt.Legend(title=None, orient="bottom") if self.legend else None
        scale = alt.Scale(domain=list(MODELS), range=list(self.models))
        return alt.Color("model:N", scale=scale, legend=legend)

    def finish(self, chart: alt.LayerChart, title: str, subtitle: str) -> alt.LayerChart:
        """Apply this style; the page has captions instead of titles."""
        fits = self.width == "container"
        autosize = alt.AutoSizeParams(type="fit-x" if fits else "pad", contains="padding")
        shown = chart.properties(width=self.width, background=self.background, autosize=autosize)
        if title:
            shown = shown.properties(title=alt.TitleParams(title, subtitle=subtitle, offset=12))
        finished: alt.LayerChart = (
            shown.configure(font="system-ui, sans-serif", padding=0 if fits else 16)
            .configure_view(stroke=None)
            .configure_title(color=self.ink, subtitleColor=self.quiet, anchor="start", fontSize=15)
            .configure_legend(labelColor=self.quiet)
            .configure_axis(
                domainColor=self.line,
                gridColor=self.line,
                tickColor=self.line,
                labelColor=self.quiet,
                titleColor=self.quiet,
                titleFontWeight="normal",
                labelFontSize=12,
                titleFontSize=12,
            )
        )
        return finished


PAGE = Style(
    ink="var(--ink)",
    quiet="var(--quiet)",
    line="var(--line)",
    background="transparent",
    warning="var(--warning)",
    hollow="var(--ground)",
    models=[f"var(--model-{at})" for at in range(len(MODELS))],
    width="container",
    legend=False,  # the filters are the legend
)
PICTURE = Style(
    ink="#1b1f24",
    quiet="#59636e",
    line="#d8dee4",
    background="#ffffff",
    warning="#9a5b00",
    hollow="#ffffff",
    models=["#2f6fb3", "#b8570b", "#7b4fa3", "#2c7d4f", "#b3335f"],
    width=720,
    legend=True,
)
