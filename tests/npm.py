"""Tools from npm that tests use, each set in a folder of ``tests/`` with a lock file."""

import subprocess
from pathlib import Path

from harness.paths import RUN
from harness.system.locks import locked
from harness.system.programs import search_path
from harness.toolchains.install import require
from tests.attempts import attempts
from tests.programs import execute


def run(
    *command: str | Path, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program with Node.js on its path."""
    return execute(*command, cwd=cwd, env={"PATH": search_path(), **(env or {})})


@attempts(2)  # a registry may fail
def install(folder: Path) -> None:
    """Install what the folder's ``package-lock.json`` names, once."""
    require(["node"])
    stamp = folder / "node_modules" / ".installed-from"
    wanted = "".join((folder / name).read_text() for name in ("package.json", "package-lock.json"))
    with locked(RUN / "locks" / folder.name):
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        done = run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        stamp.write_text(wanted)
