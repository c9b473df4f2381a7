"""Renders the pages: the overview, and one for each workload."""

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args

import vl_convert

from bench.analysis import words
from bench.analysis.caveats import placement
from bench.analysis.estimates import Kind
from bench.analysis.figures import FIGURES
from bench.report.code import Code
from bench.report.overview import Table
from bench.report.section import Section
from bench.report.wording import TIMES, share_text, times_name, title_of, value_text
from bench.workloads.load import OPEN
from conformance import pages
from harness.servers.manifest import Deployment

VEGA = "vega.js"  # The file of the library that draws charts
# The concurrency models; each has a colour
MODELS: tuple[str, ...] = get_args(Deployment.model_fields["model"].annotation)

FOLDER = Path(__file__).parent
# The script that keeps a view in the address, and sorts tables
VIEW = (FOLDER / "view.js").read_text(encoding="utf-8")
_CHART_GROUPS = {
    "": ["bars"],
    "Response times": ["steps", "percentiles"],
    "As the load grows": ["levels"],
    "From case to case": ["cases"],
}
# What a figure has beside it, in the head of its column
_BESIDE: dict[Kind, str] = {
    "interval": ", 95% interval",
    "range": ", lowest to highest",
    "single": "",
}


def overview_page(tables: Sequence[Table], home: str | None) -> str:
    """The page that shows servers by workloads; ``home`` is the address of the site's folder."""
    sections = [section for table in tables for section in table.columns]
    others = [section for table in tables for section in table.others]
    values = {
        "tables": tables,
        "home": home,
        "workloads": {section.page: section.title for section in sections},
        "share_text": share_text,
        "value_text": value_text,
    }
    return _render("overview", sections, values, [*sections, *others])


def workload_pages(sections: Sequence[Section], code: Code, home: str | None) -> dict[str, str]:
    """The page of each workload, by file name."""
    shared: dict[str, Any] = {
        "home": home,
        "code": code,
        "vega": VEGA,
        "chart_groups": _CHART_GROUPS,
        "columns_of": _columns_of,
        "open_loop": lambda section: section.run.workload.load.model in OPEN,
        "times": TIMES,
        "placement": placement,
        "infinite": math.inf,
    }
    found = {}
    for page in dict.fromkeys(section.page for section in sections):
        own = [section for section in sections if section.page == page]
        data = {"models": MODELS, "rows": {section.name: section.values for section in own}}
        values = shared | {"sections": own, "data": data}
        found[f"{page}.html"] = _render("workload", own, values, sections)
    return found


def _render(
    name: str, sections: Sequence[Section], values: dict[str, Any], every: Sequence[Section]
) -> str:
    servers = [server for section in sections for server in section.run.servers.values()]
    models = {server.model for server in servers}
    shared = {
        "every": every,
        "languages": sorted({server.language for server in servers}),
        "models": [*(one for one in MODELS if one in models), *sorted(models - set(MODELS))],
        "colors": MODELS,
        "figures": FIGURES,
        "words": words,
    }
    charts = [(FOLDER / "charts.js").read_text(encoding="utf-8")] if name == "workload" else []
    scripts = [VIEW, *charts]
    return pages.render(
        FOLDER, shared | values, scripts, template=f"{name}.html.jinja", script=f"{name}.js"
    )


def _columns_of(section: Section) -> dict[str, dict[str, str]]:
    """The columns of a table of figures, by group."""
    model = section.run.workload.load.model
    ranked = section.ranked.name
    columns = {
        f"{title_of(FIGURES['rate'], model)}, requests/s": {"rate": "rate"},
        "Cores used": {
            "cores": "server",
            "database_cores": "database",
            "generator_cores": "generator",
            "rest_cores": "rest",
            "per_core": "requests per core-second",
        },
        f"{times_name(model)}, ms": {"p50": "p50", "p99": "p99", "p99_9": "p99.9", "max": "max"},
        "Failed": {"failed": "requests"},
        "CPU µs per request": {
            "cpu": "server",
            "database_cpu": "database",
            "upstream_cpu": "upstream",
            "generator_cpu": "generator",
        },
        "Clients": {"starved": "no answer for 5 s", "refused": "refused", "fairness": "fairness"},
        "Warm-up": {"until_level": "requests until level"},
        "Memory (PSS), MB": {"rest": "at rest", "peak": "peak"},
    }
    known = {name for row in section.rows for name in row.estimates}
    if not any(row.value("starved") or row.value("refused") for row in section.rows):
        del columns["Clients"]
    kinds = section.kinds
    beside = _BESIDE[max(kinds, key=kinds.count, default="single")]
    return {
        group: {
            name: title + (beside if name == ranked else "")
            for name, title in names.items()
            if name in known
        }
        for group, names in columns.items()
        if known.intersection(names)
    }


@cache
def vega() -> str:
    """The library that draws charts."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
