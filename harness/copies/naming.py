"""Renames a copied server in all files that contain its name."""

import json
import re
from pathlib import Path

from harness.errors import UsageError
from harness.servers.catalog import NAME, Server
from harness.servers.manifest import WORD

_LONGEST = 214  # npm's limit


def check_name(server: Server, name: str) -> None:
    """Refuse a name that a language cannot take; what all of them take is allowed."""
    if not re.fullmatch(WORD, name, re.ASCII) or len(name) > _LONGEST:
        raise UsageError(
            f"{name!r} cannot be the name of a copy: use lower-case letters and digits, words "
            f"joined by -, at most {_LONGEST}"
        )
    if server.manifest.language == "node" and name in _node_dependencies(server.folder):
        raise UsageError(f"{name!r} cannot be the name: it is a package that {server.name} uses")


def rename(server: Server, folder: Path, name: str) -> None:
    """Set ``name`` in a copy of the server: in its README's title and in its build files."""
    _replace(folder / "README.md", r"\A# .*", f"# {name}")
    match server.manifest.language:
        case "python":
            _replace(folder / "pyproject.toml", r'^(\[project\]\nname = )".*"', rf'\g<1>"{name}"')
        case "node":
            for file in ("package.json", "package-lock.json"):
                _name_package(folder / file, name)
        case "scala":
            _replace(folder / "build.sbt", r'name := ".*"', f'name := "{name}"')
            for file in (NAME, "README.md"):
                _replace(folder / file, r"(target/universal/stage/bin/)[a-z0-9-]+", rf"\g<1>{name}")
            _replace(folder / "Dockerfile", r'^(CMD \["bin/)[a-z0-9-]+', rf"\g<1>{name}")
        case "java":
            _replace(folder / "pom.xml", r"^  (<artifactId>).*<", rf"  \g<1>{name}<")
        case "go":
            _replace(folder / "go.mod", r"^(module \S+/)\S+", rf"\g<1>{name}")


def _replace(path: Path, pattern: str, replacement: str) -> None:
    text = path.read_text(errors="surrogateescape")
    text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    if not count:
        raise UsageError(f"{path.name} has no {pattern}: the copy cannot be renamed")
    path.write_text(text, errors="surrogateescape")


def _name_package(path: Path, name: str) -> None:
    package = json.loads(path.read_text()) | {"name": name}
    if "packages" in package:  # a lock file, which lists the package itself too
        package["packages"][""]["name"] = name
    path.write_text(json.dumps(package, indent=2, ensure_ascii=False) + "\n")


def _node_dependencies(folder: Path) -> set[str]:
    package = json.loads((folder / "package.json").read_text())
    return {*package.get("dependencies", {}), *package.get("devDependencies", {})}
