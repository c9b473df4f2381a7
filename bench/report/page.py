"""The page: one HTML file with all that it needs in it."""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bench import words
from bench.figures import FIGURES
from bench.report.section import Section
from bench.report.style import MODELS, PAGE

GENERATOR = "reference-servers report"
"""What the page says that it was made by."""

_COLUMNS = {
    "Requests a second": {"rate": "median, 95% interval"},
    "Latency, ms": {"p50": "p50", "p99": "p99", "max": "max"},
    "Failed": {"failed": "requests"},
    "CPU µs a request": {
        "cpu": "server",
        "database_cpu": "database",
        "generator_cpu": "generator",
    },
    "Memory (PSS), MB": {"rest": "at rest", "peak": "peak"},
}


def render(sections: Sequence[Section], to_root: str) -> str:
    """The page; ``to_root`` leads from its folder to the repository's."""
    folder = Path(__file__).parent
    specs: dict[str, Any] = {}
    drawn = {}
    for section in sections:
        for chart in section.charts:
            spec = chart.draw(PAGE).to_dict()
            name = hashlib.sha256(json.dumps(spec).encode()).hexdigest()[:12]
            specs[name] = spec
            drawn[section.picture(chart)] = name
    scripts = [_script(_vega()), _script((folder / "page.js").read_text(encoding="utf-8"))]
    servers = [server for section in sections for server in section.run.servers.values()]
    models = {server.model for server in servers}
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("template.html.jinja").render(
        generator=GENERATOR,
        policy=" ".join(f"'{digest}'" for _, digest in scripts),
        style=Markup((folder / "style.css").read_text(encoding="utf-8")),  # noqa: S704
        scripts=[text for text, _ in scripts],
        sections=sections,
        languages=sorted({server.language for server in servers}),
        models=[*(one for one in MODELS if one in models), *sorted(models - set(MODELS))],
        colors=MODELS,
        columns=_COLUMNS,
        figures=FIGURES,
        words=words,
        drawn=drawn,
        folder_link=lambda folder: quote(f"{to_root}/{folder}"),
        data={"specs": specs, "rows": {section.name: section.values for section in sections}},
    )


@cache
def _vega() -> str:
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def _script(text: str) -> tuple[Markup, str]:
    """A script of ours as it stands in the page, and the digest by which the page allows it."""
    safe = text.replace("</script", r"<\/script")
    digest = base64.b64encode(hashlib.sha256(safe.encode()).digest()).decode()
    return Markup(safe), f"sha256-{digest}"  # noqa: S704
