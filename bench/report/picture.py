"""The overview as an image, for a README."""

import textwrap
from dataclasses import replace
from pathlib import Path

from bench.report.overview import Table
from bench.report.wording import share_text
from conformance.pages import render

_WIDTH = 17  # Characters of a line of a column's title


def overview_svg(table: Table) -> str:
    """An SVG of the servers' shares of the best, by workload.

    Workloads of refusals are left out, to keep it narrow.
    """
    served = [one for one in table.columns if not one.run.workload.is_refused]
    table = replace(table, columns=served or table.columns)
    titles = [textwrap.wrap(section.title, _WIDTH) for section in table.columns]
    values = {"table": table, "titles": titles, "share_text": share_text}
    return render(Path(__file__).parent, values, template="overview.svg.jinja", script=None)
