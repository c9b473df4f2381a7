"""Lists the servers: as a table for the terminal, and as JSON."""

import json
from collections.abc import Iterable

from rich.table import Table

from harness.paths import ROOT
from harness.servers.catalog import Server
from harness.servers.source import count_lines

LEGEND = """
C  one slow request does not block others, with one worker
W  runs several worker processes
S  replaces a worker that died"""


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
