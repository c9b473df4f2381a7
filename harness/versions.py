"""The versions of servers' runtimes and dependencies."""

import json
import os
import re
import subprocess
from pathlib import Path

from harness.catalog import Server
from harness.manifest import Tool
from harness.programs import parse_version, run_program, search_path, version_of

_RUNTIMES = {
    "python": ("python3", "--version"),
    "node": ("node", "--version"),
    "scala": ("java", "-version"),
    "ruby": ("ruby", "--version"),
    "nginx": ("nginx", "-v"),
}


def runtime(server: Server) -> dict[str, str]:
    """The version of the server's runtime, such as Python's."""
    if server.manifest.language not in _RUNTIMES:
        tools = [need for need in server.manifest.needs if isinstance(need, Tool)]
        found = {tool.name: parse_version(run_program(tool.check)[1]) for tool in tools}
        return {name: ".".join(map(str, version)) for name, version in found.items() if version}
    program, *arguments = _RUNTIMES[server.manifest.language]
    own = server.folder / ".venv" / "bin" / program
    version = version_of(str(own) if own.exists() else program, *arguments)
    return {program.removesuffix("3"): ".".join(map(str, version))} if version else {}


def dependencies(server: Server) -> dict[str, str]:
    """Direct dependencies with their locked versions; empty without a lock file."""
    read = {"python": _python, "node": _node, "scala": _scala, "ruby": _ruby}
    try:
        return read[server.manifest.language](server.folder)
    except (KeyError, FileNotFoundError):
        return {}


def _python(folder: Path) -> dict[str, str]:
    wanted = {
        re.split(r"[^A-Za-z0-9._-]", line.strip())[0].lower().replace("_", "-")
        for line in (folder / "requirements.in").read_text().splitlines()
        if line.strip() and not line.startswith(("#", "-"))
    }
    locked = re.findall(r"^([\w.-]+)==([^\s;\\]+)", (folder / "requirements.txt").read_text(), re.M)
    return {name: version for name, version in locked if name.lower() in wanted}


def _node(folder: Path) -> dict[str, str]:
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    return {
        name: packages[f"node_modules/{name}"]["version"]
        for name in packages[""].get("dependencies", {})
    }


def _scala(folder: Path) -> dict[str, str]:
    text = "".join(
        path.read_text() for path in [*folder.glob("*.sbt"), *folder.glob("project/*.sbt")]
    )
    found = re.findall(r'"([\w.-]+)"\s*%+\s*"([\w.-]+)"\s*%\s*"([^"]+)"', text)
    return {f"{group}:{name}": version for group, name, version in found}


def _ruby(folder: Path) -> dict[str, str]:
    done = subprocess.run(
        ["bundle", "list"],
        cwd=folder,
        env=os.environ
        | {"PATH": search_path(), "BUNDLE_GEMFILE": str(folder / "gemfiles" / "debian.gemfile")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return dict(re.findall(r"^\s+\* (\S+) \(([^)\s]+)", done.stdout, re.M))
