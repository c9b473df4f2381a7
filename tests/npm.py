"""Tools from npm that tests use, each set in a folder of ``tests/`` with a lock file."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from harness.paths import RUN
from harness.system.locks import locked
from harness.system.programs import search_path
from harness.toolchains.install import require
from tests.attempts import attempts
from tests.programs import execute


def run(
    folder: Path,
    program: str,
    *words: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] = {},
) -> subprocess.CompletedProcess[str]:
    """Run one of the programs in the folder's ``node_modules``."""
    install(folder)
    path = folder / "node_modules" / ".bin" / program
    return execute(path, *words, cwd=cwd or folder, env={"PATH": search_path(), **env})


@attempts(2)  # a registry may fail
def install(folder: Path) -> None:
    """Install what the folder's ``package-lock.json`` names, once."""
    require(["node"])
    stamp = folder / "node_modules" / ".installed-from"
    wanted = "".join((folder / name).read_text() for name in ("package.json", "package-lock.json"))
    with locked(RUN / "locks" / folder.name):
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        words = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        done = execute(*words, cwd=folder, env={"PATH": search_path()})
        assert done.returncode == 0, done.stdout + done.stderr
        stamp.write_text(wanted)
