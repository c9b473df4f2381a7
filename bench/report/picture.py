"""The overview as an image, for a README."""

import textwrap
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bench.report.overview import Table
from bench.report.wording import share_text

_WIDTH = 17  # Characters of a line of a column's title


def overview_svg(table: Table) -> str:
    """An SVG of the servers' shares of the best, by workload."""
    titles = [textwrap.wrap(column.title, _WIDTH) for column in table.columns]
    folder = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=folder,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("overview.svg.jinja")
    return template.render(table=table, titles=titles, share_text=share_text)
