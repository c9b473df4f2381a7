"""Programs that are published as Python wheels, each installed in a folder of its own."""

import subprocess
from pathlib import Path

from harness.build import environment
from harness.console import say
from harness.errors import UsageError
from harness.paths import ROOT


def install_wheel(name: str, target: Path) -> None:
    """Install the wheel of ``requirements/NAME.txt`` as ``target``, unless it is there."""
    lock = ROOT / "requirements" / f"{name}.txt"
    stamp = target / ".installed-from"
    if stamp.is_file() and stamp.read_bytes() == lock.read_bytes():
        return
    say(f"fetching {name} (once)")
    done = subprocess.run(
        [
            *("uv", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"),
            *("--require-hashes", "--target", str(target), "--requirement", str(lock)),
        ],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        setting = {"mongodb": "MONGODB_URL", "postgresql": "DATABASE_URL"}[name]
        raise UsageError(
            f"cannot fetch {name} for this machine: set {setting} to one of your own, or see "
            f"`just doctor`:\n{done.stderr.rstrip()}"
        )
    target.chmod(target.stat().st_mode | 0o555)
    stamp.write_bytes(lock.read_bytes())
