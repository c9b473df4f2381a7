"""Copies a server as the start of one's own."""

import shutil
import subprocess
from pathlib import Path

from harness.catalog import Server
from harness.errors import UsageError


def source_files(folder: Path) -> list[Path]:
    """The files of ``folder`` that belong to the repository, sorted: what git tracks or would."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=folder,
        stdout=subprocess.PIPE,
        check=True,
    )
    names = [name.decode() for name in listed.stdout.split(b"\0") if name]
    return sorted(path for name in names if (path := folder / name).is_file())


def copy_server(server: Server, target: Path) -> None:
    """Copy what the server's folder holds of the repository to a new folder."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already: give a folder that is new or empty")
    for source in source_files(server.folder):
        copy = target / source.relative_to(server.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy)
