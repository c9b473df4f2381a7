"""Package managers: what a folder depends on, what is newer, and how its lock is made again."""

from collections.abc import Sequence
from pathlib import Path

from upkeep.ecosystems.base import Dependency, Ecosystem
from upkeep.ecosystems.node import Npm
from upkeep.ecosystems.python import Uv
from upkeep.ecosystems.ruby import Bundler
from upkeep.ecosystems.scala import Sbt

__all__ = ["Dependency", "Ecosystem", "ecosystem_of"]

_ALL: Sequence[type[Ecosystem]] = (Uv, Npm, Sbt, Bundler)


def ecosystem_of(folder: Path) -> Ecosystem | None:
    """The package manager of a folder, by its files; None if there is none that we know."""
    return next((one(folder) for one in _ALL if (folder / one.file).is_file()), None)
