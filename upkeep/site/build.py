"""Builds the site."""

import re
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from bench.report.code import Code
from bench.report.folder import PAGE, replacing, write_results
from bench.report.overview import tables_of
from bench.report.rendering import FOLDER, VIEW
from bench.report.section import sections_of
from conformance import pages
from conformance.matrix.page import render
from conformance.matrix.rows import rows
from harness.copies.readme import section, without_outer_links
from harness.errors import UsageError
from harness.servers.catalog import Server, find_servers, find_targets
from harness.servers.source import count_lines
from upkeep.reference import all_published

_HERE = Path(__file__).parent


def write_site(folder: Path, repository: str | None = None) -> Path:
    """Write the site into a folder, in place of an earlier one; return the path of its start page.

    ``repository`` is the address that code is linked at, as :class:`Code` has it.
    """
    with replacing(folder) as new:
        sections = sections_of(all_published())
        if not sections:
            raise UsageError("there is no published result: `./just submit RESULT` adds one")
        write_results(sections, new / "results", Code(folder / "results", repository), "..")
        servers, targets = find_servers(), find_targets(["all"])
        values = {
            "tables": tables_of(sections),
            "servers": servers,
            "lines": {name: count_lines(server) for name, server in servers.items()},
            "rows": rows(targets),
            "repository": repository,
        }
        files = {f"servers/{name}.html": _page(server, values) for name, server in servers.items()}
        files[PAGE] = pages.render(
            _HERE, values, [VIEW], template="start.html.jinja", script="start.js", base=FOLDER
        )
        files["behaviours.html"] = render(targets, rows(targets), ".")
        (new / "servers").mkdir()
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8")
    return folder / PAGE


def _page(server: Server, values: dict[str, Any]) -> str:
    """The page of one server, which takes from its README how to run it and what to know."""
    readme = without_outer_links((server.folder / "README.md").read_text(encoding="utf-8"))
    own = {
        "server": server,
        "targets": [f"{server.name}/{one.name}" for one in server.manifest.deployment],
        "run": section(readme),
        "notes": re.split(r"^- ", section(readme, "## What to know"), flags=re.MULTILINE)[1:],
        "html": lambda text: Markup(MarkdownIt().render(text)),  # noqa: S704
    }
    return pages.render(_HERE, values | own, template="server.html.jinja", script=None, base=FOLDER)
