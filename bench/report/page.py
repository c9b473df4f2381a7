"""Renders the page: one self-contained HTML file."""

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import vl_convert

from bench import words
from bench.figures import FIGURES
from bench.report.section import Section
from bench.report.style import MODELS, PAGE
from harness import pages

GENERATOR = "reference-servers report"
"""The page's ``generator``."""

_COLUMNS = {
    "Requests per second": {"rate": "median, 95% interval"},
    "Latency, ms": {"p50": "p50", "p99": "p99", "max": "max"},
    "Failed": {"failed": "requests"},
    "CPU µs per request": {
        "cpu": "server",
        "database_cpu": "database",
        "generator_cpu": "generator",
    },
    "Memory (PSS), MB": {"rest": "at rest", "peak": "peak"},
}


def render(sections: Sequence[Section], to_root: str) -> str:
    """The page; ``to_root`` is the relative path from its folder to the repository."""
    specs: dict[str, Any] = {}
    drawn = {}
    for section in sections:
        for chart in section.charts:
            spec = chart.draw(PAGE).to_dict()
            name = hashlib.sha256(json.dumps(spec).encode()).hexdigest()[:12]
            specs[name] = spec
            drawn[section.picture(chart)] = name
    servers = [server for section in sections for server in section.run.servers.values()]
    models = {server.model for server in servers}
    values = {
        "generator": GENERATOR,
        "sections": sections,
        "languages": sorted({server.language for server in servers}),
        "models": [*(one for one in MODELS if one in models), *sorted(models - set(MODELS))],
        "colors": MODELS,
        "columns": _COLUMNS,
        "figures": FIGURES,
        "words": words,
        "drawn": drawn,
        "folder_link": lambda folder: quote(f"{to_root}/{folder}"),
        "data": {
            "specs": specs,
            "rows": {section.name: section.values for section in sections},
        },
    }
    return pages.render(Path(__file__).parent, values, [_vega()])


@cache
def _vega() -> str:
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
