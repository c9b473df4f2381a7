"""Lists the servers: as a table for the terminal, as JSON, and as the table in README.md."""

import json
import re
from collections.abc import Iterable

from rich.table import Table

from harness.errors import TaskError
from harness.paths import ROOT
from harness.servers.catalog import Server
from harness.servers.source import count_lines

LEGEND = """
C  one slow request does not block others, with one worker
W  runs several worker processes
S  replaces a worker that died"""

_TABLE = re.compile(r"(<!-- `just list --readme` .*?-->).*?(<!-- end -->)", re.DOTALL)


def table(servers: Iterable[Server]) -> Table:
    """A row for each deployment; LEGEND explains its last column."""
    found = Table(box=None, pad_edge=False)
    for column in ("name", "lines", "model", "MongoDB, SQL", "has"):
        found.add_column(column, no_wrap=True)
    found.columns[1].justify = "right"
    for server in servers:
        drivers = ", ".join(filter(None, (server.manifest.mongodb, server.manifest.sql)))
        lines = str(count_lines(server))
        for one in server.manifest.deployment:
            features = {"C": one.concurrent, "W": one.workers, "S": one.supervised}
            has = " ".join(name if there else "-" for name, there in features.items())
            found.add_row(f"{server.name}/{one.name}", lines, one.model, drivers, has)
            lines = ""
    return found


def as_json(servers: Iterable[Server]) -> str:
    """All that is known of each server."""
    rows = [
        {
            "name": server.name,
            "folder": str(server.folder.relative_to(ROOT)),
            "lines": count_lines(server),
        }
        | server.manifest.model_dump()
        for server in servers
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def with_table(text: str, servers: Iterable[Server]) -> str:
    """The project's README with its table of servers, between two comments, written anew."""
    rows = [
        ("Server", "Lines", "Deployments, the default first", "MongoDB", "SQL"),
        ("---", "---:", "---", "---", "---"),
        *map(_row, servers),
    ]
    markdown = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    found, count = _TABLE.subn(lambda match: f"{match[1]}\n\n{markdown}\n{match[2]}", text)
    if count != 1:
        raise TaskError("README.md has no comments around its table of servers")
    return found


def _row(server: Server) -> tuple[str, ...]:
    manifest = server.manifest
    name = f"[{server.name}]({server.folder.parent.name}/{server.name})"
    if manifest.parts:
        name += f": only {', '.join(manifest.parts)}"
    return (
        name,
        str(count_lines(server)),
        ", ".join(f"`{deployment.name}`" for deployment in manifest.deployment),
        manifest.mongodb or "",
        manifest.sql or "",
    )
