"""Copies a server as the start of one's own."""

import shutil
from pathlib import Path

from harness.catalog import Server
from harness.errors import UsageError
from harness.sources import source_files


def copy_server(server: Server, target: Path) -> None:
    """Copy what the server's folder holds of the repository to a new folder."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already: give a folder that is new or empty")
    for source in source_files(server.folder):
        copy = target / source.relative_to(server.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy)
