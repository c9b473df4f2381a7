"""Programs that are published as Python wheels, each installed in a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

from harness.console import say
from harness.errors import UsageError
from harness.paths import ROOT
from harness.toolchains import search_path


def install_wheel(name: str, target: Path) -> None:
    """Install the wheel of ``requirements/NAME.txt`` as ``target``, unless it is there."""
    lock = ROOT / "requirements" / f"{name}.txt"
    stamp = target / ".installed-from"
    # Some wheels are for one version of Python alone.
    wanted = f"# {sys.implementation.cache_tag}\n{lock.read_text()}"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    say(f"fetching {name} (once)")
    done = subprocess.run(
        [
            *("uv", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"),
            *("--python", sys.executable, "--require-hashes"),
            *("--target", str(target), "--requirement", str(lock)),
        ],
        env={**os.environ, "PATH": search_path()},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UsageError(
            f"cannot fetch {name} for this machine: `just doctor` says what to use in its place:\n"
            f"{done.stderr.rstrip()}"
        )
    target.chmod(target.stat().st_mode | 0o555)
    stamp.write_text(wanted)
