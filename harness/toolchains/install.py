"""Installs toolchains: from wheels, or with apt."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence

from harness.console import say
from harness.errors import TaskError, UsageError
from harness.paths import RUN, TOOLS
from harness.system.locks import locked
from harness.system.processes import output_of
from harness.system.programs import find_program, run_program
from harness.toolchains.known import TOOLCHAINS, Toolchain
from harness.toolchains.wheel import install_wheel


def require(needs: Iterable[str | Toolchain]) -> None:
    """Install the missing ones of these toolchains, or fail with how to install them by hand."""
    wanted = [TOOLCHAINS[one] if isinstance(one, str) else one for one in needs]
    if not _missing(wanted):
        return
    with locked(RUN / "locks" / "toolchains"):
        missing = _missing(wanted)
        has_apt = shutil.which("apt-get") is not None
        packages = [one for one in missing if has_apt and one.debian and not one.wheel]
        if packages:
            _install_by_apt(packages)
        for one in missing:
            if one.wheel:
                install_wheel(one.wheel, TOOLS / one.wheel, one.finish)
            elif one not in packages:
                by_hand = one.by_hand or "install it with this machine's package manager"
                raise UsageError(f"{one.what} is missing: {by_hand}")
        if still := _missing(missing):
            raise UsageError(f"{still[0].what} is still missing after its installation")


def _missing(toolchains: Iterable[Toolchain]) -> list[Toolchain]:
    return [one for one in toolchains if not one.found()]


def _install_by_apt(missing: Sequence[Toolchain]) -> None:
    what = "; ".join(one.what for one in missing)
    packages = [package for one in missing for package in one.debian]
    by_hand = f"missing: {what}: apt install {' '.join(packages)}"
    if (prefix := _as_root()) is None:
        raise UsageError(by_hand)
    say(f"missing: {what}: installing {' '.join(packages)} with apt")
    options = ["--yes", "--quiet", "--no-install-recommends"]
    install = [*prefix, "apt-get", "install", *options, *packages]
    status, output = _apt(install)
    if status:  # its package lists are missing or old
        _apt([*prefix, "apt-get", "update", "--quiet"])
        status, output = _apt(install)
    if status:
        raise TaskError(f"{by_hand}\n{output.rstrip()[-1500:]}")


def _as_root() -> list[str] | None:
    """The prefix of commands that need root; None if this user cannot become root."""
    if os.geteuid() == 0:
        return []
    if run_program(("sudo", "-n", "true"))[0] == 0:
        return ["sudo", "-n"]
    return ["sudo"] if find_program("sudo") and sys.stdin.isatty() else None


def _apt(command: list[str]) -> tuple[int, str]:
    """Run apt-get on the terminal, where sudo asks for a password.

    An interrupt waits until it has ended by itself: no package is left half configured.
    """
    with subprocess.Popen(
        command,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=None if command[0] == "sudo" else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            output = output_of(process)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            say("waiting for apt-get to end")
            signal.alarm(0)  # however long that takes
            process.communicate()
            raise
    return process.returncode, output.decode(errors="replace")
