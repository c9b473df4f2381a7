"""Installs programs that are published as Python wheels, each in a folder of its own."""

import sys
from collections.abc import Callable
from pathlib import Path

from harness.console import say
from harness.errors import UsageError
from harness.paths import ROOT
from harness.system.files import write_whole
from harness.system.processes import finish
from harness.system.programs import environment


def install_wheel(name: str, target: Path, complete: Callable[[], None] = lambda: None) -> None:
    """Install the wheel of ``requirements/NAME.txt`` as ``target``, unless it is up to date.

    ``complete`` is called once its files are there.
    """
    lock = ROOT / "requirements" / f"{name}.txt"
    stamp = target / ".installed-from"
    # Some wheels are for one version of Python only.
    wanted = f"# {sys.implementation.cache_tag}\n{lock.read_text()}"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    say(f"fetching {name} (once)")
    status, output = finish(
        [
            *("uv", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"),
            *("--python", sys.executable, "--require-hashes"),
            *("--target", str(target), "--requirement", str(lock)),
        ],
        cwd=ROOT,
        env=environment(),
    )
    if status:
        raise UsageError(
            f"cannot fetch {name} for this machine: `./just doctor` names alternatives:\n{output}"
        )
    target.chmod(target.stat().st_mode | 0o555)
    complete()
    write_whole(stamp, wanted)
