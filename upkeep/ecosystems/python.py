"""Python: uv, with the requirements.txt that it compiles."""

import re
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from packaging.version import Version

from upkeep.ecosystems.base import Dependency, Ecosystem, run

OPTIONS = ("--quiet", "--universal", "--upgrade", "--no-header", "--no-annotate")
OLDEST = ("--python-version", "3.11")
"""The oldest Python that locks serve."""

_PIN = re.compile(r"^([\w.-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", re.M)
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(\[[^\]]*\])?", re.M)


class Uv(Ecosystem):
    """Requirements compiled by uv, from pyproject.toml or from files of requirements."""

    file = "requirements.txt"
    source = "Python packages, by uv"

    def dependencies(self) -> list[Dependency]:
        """Compare the locks with what uv would lock now."""
        found: dict[str, Dependency] = {}
        for stem in self._stems():
            names = requirements("\n".join(self._direct(stem)))
            allowed = self.run("uv", "pip", "compile", *OPTIONS, *OLDEST, *self._inputs(stem))
            lock = (self.folder / f"{stem}.txt").read_text()
            tests = stem != "requirements"
            for one in compare(names, pins(lock), pins(allowed), newest(names), tests=tests):
                found.setdefault(one.name, one)
        return list(found.values())

    def locked(self) -> dict[str, str]:
        """The pins in requirements.txt."""
        return pins((self.folder / "requirements.txt").read_text())

    def relock(self, *, latest: bool) -> None:
        """Compile each requirements file that the folder has."""
        for stem in self._stems():
            source = self.folder / f"{stem}.in"
            if latest and source.is_file():
                source.write_text(without_constraints(source.read_text()))
            self.run(
                *("uv", "pip", "compile", *OPTIONS, *OLDEST, "--generate-hashes"),
                *("--output-file", f"{stem}.txt", *self._inputs(stem)),
            )

    @property
    def _project(self) -> dict[str, Any] | None:
        path = self.folder / "pyproject.toml"
        return tomllib.loads(path.read_text()) if path.is_file() else None

    def _stems(self) -> list[str]:
        stems = ("requirements", "requirements-dev")
        return [stem for stem in stems if (self.folder / f"{stem}.txt").is_file()]

    def _direct(self, stem: str) -> list[str]:
        if (project := self._project) is None:
            return (self.folder / f"{stem}.in").read_text().splitlines()
        if stem == "requirements":
            return list(project["project"]["dependencies"])
        return list(project["dependency-groups"]["dev"])

    def _inputs(self, stem: str) -> list[str]:
        if self._project is None:
            return [f"{stem}.in"]
        if stem == "requirements":
            return ["pyproject.toml"]
        return ["pyproject.toml", "--group", "dev", "--constraints", "requirements.txt"]


def normal(name: str) -> str:
    """A package's name in the form that locks have."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(text: str) -> list[str]:
    """The names in a requirements file."""
    return [
        normal(found[1])
        for line in text.splitlines()
        if (found := _REQUIREMENT.match(line)) and not line.startswith(("#", "-"))
    ]


def pins(text: str) -> dict[str, str]:
    """The versions in a lock; those for other platforms too, if they differ."""
    found: dict[str, list[str]] = {}
    for name, version in _PIN.findall(text):
        found.setdefault(normal(name), []).append(version)
    return {name: ", ".join(dict.fromkeys(versions)) for name, versions in found.items()}


def newest(names: list[str]) -> dict[str, str]:
    """The newest release of each package, whatever others need."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "names.in"
        source.write_text("\n".join(names) + "\n")
        command = ("uv", "pip", "compile", *OPTIONS, *OLDEST, "--no-deps", source.name)
        found = pins(run(*command, cwd=source.parent))
    # One that newer Pythons alone can run comes beside one for the oldest.
    return {name: max(versions.split(", "), key=Version) for name, versions in found.items()}


def compare(
    names: list[str],
    have: dict[str, str],
    allowed: dict[str, str],
    latest: dict[str, str],
    *,
    tests: bool = False,
) -> list[Dependency]:
    """The dependencies from the versions in three locks."""
    return [
        Dependency(
            name,
            have.get(name, "not locked"),
            allowed.get(name, "none"),
            latest.get(name, "unknown"),
            tests,
        )
        for name in names
    ]


def without_constraints(text: str) -> str:
    """Requirements without version specifiers; comments, options and markers stay."""
    return "".join(
        re.sub(r"^(\s*[\w.-]+\s*(?:\[[^\]]*\])?)\s*[~<>=!][^;#\n]*", r"\1", line)
        if not line.startswith(("#", "-"))
        else line
        for line in text.splitlines(keepends=True)
    )
