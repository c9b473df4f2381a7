"""What the package managers have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.build import environment
from harness.errors import TaskError, UsageError
from harness.processes import finish


@dataclass(frozen=True)
class Dependency:
    """A direct dependency."""

    name: str
    have: str
    """The locked version; several, with commas, if platforms differ."""
    allowed: str
    """The newest version that its own constraint and the other dependencies allow."""
    newest: str
    """The newest release."""
    tests: bool = False
    """Whether only tests and linters use it."""

    @property
    def is_outdated(self) -> bool:
        """Whether there is a newer version."""
        return self.have != self.allowed or self.newest not in self.have.split(", ")


class Ecosystem(ABC):
    """A package manager, for one folder."""

    file: ClassVar[str]
    """The file that shows that a folder uses it."""
    source: str
    """What versions were compared with."""

    def __init__(self, folder: Path) -> None:
        """Take the folder with its files."""
        self.folder = folder

    @abstractmethod
    def dependencies(self) -> list[Dependency]:
        """The direct dependencies, with newer versions; changes no file in the folder."""

    @abstractmethod
    def locked(self) -> dict[str, str]:
        """The locked version of each package, direct or not, that the server runs on."""

    @abstractmethod
    def relock(self, *, latest: bool) -> None:
        """Make the lock again with the newest versions that constraints allow.

        With ``latest``, constraints are moved to the newest releases first.
        """

    def run(self, *command: str, accept: Sequence[int] = (0,)) -> str:
        """The output of a command in the folder; raises if its exit status is not accepted."""
        return run(*command, cwd=self.folder, accept=accept)


def run(*command: str, cwd: Path, accept: Sequence[int] = (0,)) -> str:
    """The output of a command in ``cwd``; raises if its exit status is not one of ``accept``."""
    try:
        status, output = finish(command, cwd=cwd, env=environment())
    except UsageError as error:
        raise UsageError(f"{command[0]} is missing: see `just doctor`") from error
    if status not in accept:
        raise TaskError(f"{' '.join(command)}: exit status {status}\n{output[-1500:]}")
    return output
