"""The versions of servers' runtimes and dependencies."""

import json
import re
import tomllib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from harness.servers.catalog import Server
from harness.servers.manifest import Tool
from harness.system.programs import parse_version, run_program, version_of

_RUNTIMES = {
    "python": ("python3", "--version"),
    "node": ("node", "--version"),
    "scala": ("java", "-version"),
    "java": ("java", "-version"),
    "ruby": ("ruby", "--version"),
    "go": ("go", "version"),
    "nginx": ("nginx", "-v"),
}

Reader = Callable[[Path], dict[str, str]]  # Reads versions from the files of a server's folder


def runtime(server: Server) -> dict[str, str]:
    """The version of the server's runtime, such as Python's."""
    if server.manifest.language not in _RUNTIMES:
        tools = [need for need in server.manifest.needs if isinstance(need, Tool)]
        found = {tool.name: parse_version(run_program(tool.check)[1]) for tool in tools}
        return {name: ".".join(map(str, version)) for name, version in found.items() if version}
    program, *arguments = _RUNTIMES[server.manifest.language]
    own = server.folder / ".venv" / "bin" / program
    try:
        version = _version(str(own) if own.exists() else program, *arguments)
    except LookupError:
        return {}
    return {program.removesuffix("3"): version}


@cache
def _version(program: str, *arguments: str) -> str:
    """The version that a program prints.

    Raises :class:`LookupError` if it is missing, in which case it is looked for again.
    """
    if version := version_of(program, *arguments):
        return ".".join(map(str, version))
    raise LookupError(program)


def packages(server: Server) -> dict[str, str]:
    """All packages that answer for a server, direct or not; empty without a lock."""
    return _read(server, 0)


def dependencies(server: Server) -> dict[str, str]:
    """Direct dependencies with their locked versions; empty without a lock."""
    return _read(server, 1)


def _read(server: Server, which: int) -> dict[str, str]:
    try:
        return _READERS[server.manifest.language][which](server.folder)
    except (LookupError, FileNotFoundError, ValueError):
        return {}


def _python(folder: Path) -> dict[str, str]:
    lock = (folder / "requirements.txt").read_text()
    return dict(re.findall(r"^([\w.-]+)==([^\s;\\]+)", lock, re.M))


def _direct_python(folder: Path) -> dict[str, str]:
    lines = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["dependencies"]
    wanted = {re.split(r"[^A-Za-z0-9._-]", line)[0].lower().replace("_", "-") for line in lines}
    return {name: one for name, one in _python(folder).items() if name.lower() in wanted}


def _locked_by_npm(folder: Path) -> dict[str, Any]:
    packages: dict[str, Any] = json.loads((folder / "package-lock.json").read_text())["packages"]
    return packages


def _node(folder: Path) -> dict[str, str]:
    return {
        path.removeprefix("node_modules/"): one["version"]
        for path, one in _locked_by_npm(folder).items()
        if path and not one.get("dev")
    }


def _direct_node(folder: Path) -> dict[str, str]:
    found = _node(folder)
    return {name: found[name] for name in _locked_by_npm(folder)[""].get("dependencies", {})}


def _scala(folder: Path) -> dict[str, str]:
    lines = (folder / "build.sbt.lock").read_text().splitlines()
    return dict(line.split()[0].rsplit(":", 1) for line in lines)


def _direct_scala(folder: Path) -> dict[str, str]:
    text = "".join(
        path.read_text() for path in [*folder.glob("*.sbt"), *folder.glob("project/*.sbt")]
    )
    found = re.findall(r'"([\w.-]+)"\s*%+\s*"([\w.-]+)"\s*%\s*"([^"]+)"', text)
    return {f"{group}:{name}": version for group, name, version in found}


def _ruby(folder: Path) -> dict[str, str]:
    command = ("bundle", "list", "--without-group", "development")
    gemfile = str(folder / "gemfiles" / "debian.gemfile")
    output = run_program(command, folder, BUNDLE_GEMFILE=gemfile)[1]
    return dict(re.findall(r"^\s+\* (\S+) \(([^)\s]+)", output, re.M))


def _go(folder: Path, end: str = "") -> dict[str, str]:
    lines = (folder / "go.mod").read_text()
    return dict(re.findall(rf"^\s(\S+) v(\S+){end}", lines, re.M))


def _java(folder: Path) -> dict[str, str]:
    names = "\n".join(path.name for path in sorted(folder.glob("target/server/lib/*.jar")))
    return dict(re.findall(r"^(.+?)-(\d.*)\.jar$", names, re.M))


def _direct_java(folder: Path) -> dict[str, str]:
    named = set(re.findall(r"<artifactId>(.+)<", (folder / "pom.xml").read_text()))
    return {
        name: version
        for name, version in _java(folder).items()
        if name in named or name.replace("spring-boot-", "spring-boot-starter-") in named
    }


_READERS: dict[str, tuple[Reader, Reader]] = {  # of all packages, of direct ones
    "python": (_python, _direct_python),
    "node": (_node, _direct_node),
    "scala": (_scala, _direct_scala),
    "java": (_java, _direct_java),
    "ruby": (_ruby, _ruby),
    "go": (_go, partial(_go, end="$")),  # others have a comment behind the version
}
