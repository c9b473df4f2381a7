"""Servers of tests: a folder with a manifest, and nothing else."""

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
run = ["sh", "-c", "{script}"]
"""


def write_server(folder: Path, script: str, more: str = "") -> Path:
    """A server that is a shell script; ``more`` are other lines of its manifest."""
    folder.mkdir(exist_ok=True)
    (folder / "server.toml").write_text(MANIFEST.format(script=script, more=more))
    return folder
