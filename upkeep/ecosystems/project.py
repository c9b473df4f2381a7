"""The project's own packages: in requirements/ a lock for each purpose, and those of tests."""

import tomllib
from dataclasses import replace

from harness.paths import ROOT
from upkeep.ecosystems.base import Dependency, run
from upkeep.ecosystems.node import Npm
from upkeep.ecosystems.python import OLDEST, OPTIONS, compare, newest, pins, requirements

NAME = "project"
"""The name of the project's own packages among those of servers."""

SOURCE = "Python packages, by uv, and npm packages of tests, by npm"

_LOCKS = {
    "project": ["--group", "dev", "pyproject.toml"],
    **{name: ["--no-deps", "--group", name] for name in ("tools", "mongodb", "postgresql", "node")},
    "postgresql-tls": ["--no-deps", "--group", "postgresql-tls"],
    "locust": ["--group", "locust"],
}
"""As the task `lock` makes them: each lock's name in requirements/, and its arguments."""


def dependencies() -> list[Dependency]:
    """The direct dependencies in all of the project's locks."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = content["dependency-groups"]
    found = []
    for name, arguments in _LOCKS.items():
        wanted = groups[name] if name in groups else content["project"]["dependencies"]
        allowed = run("uv", "pip", "compile", *OPTIONS, *OLDEST, *arguments, cwd=ROOT)
        have = pins((ROOT / "requirements" / f"{name}.txt").read_text())
        direct = requirements("\n".join(wanted))
        found += compare(direct, have, pins(allowed), newest(direct))
        if name == "project":
            direct = requirements("\n".join(groups["dev"]))
            found += compare(direct, have, pins(allowed), newest(direct), tests=True)
    for lock in sorted((ROOT / "tests").glob(f"*/{Npm.file}")):
        found += [replace(one, tests=True) for one in Npm(lock.parent).dependencies()]
    return found
