"""Servers of tests: folders with a manifest."""

import json
from pathlib import Path

MANIFEST = """
title = "An example"
language = "none"
framework = "none"
homepage = "https://example.org"
{more}

[[deployment]]
name = "only"
model = "threads"
run = {run}
"""


def write_server(folder: Path, *run: str, more: str = "") -> Path:
    """A server that is this command; ``more`` are other lines of its manifest."""
    folder.mkdir(exist_ok=True)
    (folder / "server.toml").write_text(MANIFEST.format(run=json.dumps(run), more=more))
    return folder
