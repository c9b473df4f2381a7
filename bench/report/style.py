"""How charts look: in the page, whose CSS gives the colours, and as pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import altair as alt

from harness.manifest import Deployment

MODELS: tuple[str, ...] = get_args(Deployment.model_fields["model"].annotation)
"""The models, each of which has a colour."""


@dataclass(frozen=True)
class Style:
    """Colours and width."""

    ink: str
    quiet: str
    line: str
    ground: str
    """What is behind the chart."""
    warning: str
    hollow: str
    """What hollow points are filled with."""
    models: Sequence[str]
    """The colours of :data:`MODELS`."""
    width: int | Literal["container"]
    legend: bool

    def color(self) -> alt.Color:
        """The colour of a mark: the model's."""
        legend = alt.Legend(title=None, orient="bottom") if self.legend else None
        scale = alt.Scale(domain=list(MODELS), range=list(self.models))
        return alt.Color("model:N", scale=scale, legend=legend)

    def finish(self, chart: alt.LayerChart, title: str, subtitle: str) -> alt.LayerChart:
        """The chart in this style; where the page has a caption there is no title."""
        fits = self.width == "container"
        autosize = alt.AutoSizeParams(type="fit-x" if fits else "pad", contains="padding")
        shown = chart.properties(width=self.width, background=self.ground, autosize=autosize)
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
    ground="transparent",
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
    ground="#ffffff",
    warning="#9a5b00",
    hollow="#ffffff",
    models=["#2f6fb3", "#b8570b", "#7b4fa3", "#2c7d4f", "#b3335f"],
    width=720,
    legend=True,
)
