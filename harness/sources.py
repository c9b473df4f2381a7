"""The source files of a folder."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_MADE = {"node_modules", "__pycache__", "target", "venv", "dist"}
"""Build output, for folders outside of a git checkout."""


def source_files(folder: Path) -> list[Path]:
    """The source files of ``folder``, sorted: those that git tracks or would track.

    Outside of a git checkout: all files but those in hidden folders and build output.
    """
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    except (subprocess.CalledProcessError, FileNotFoundError):
        return sorted(_walk(folder))
    names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    return sorted(path for name in names if (path := folder / name).is_file())


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            if path.name not in _MADE and (path.name == ".mvn" or not path.name.startswith(".")):
                yield from _walk(path)
        elif path.is_file() and path.name != ".env":
            yield path
