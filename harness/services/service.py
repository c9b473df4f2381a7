"""The interface of a service to its keeper."""

import os
import signal
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from harness.paths import RUN


class Service(ABC):
    """A program that serves on a loopback port."""

    name: ClassVar[str]
    setting: ClassVar[str]  # The environment variable that holds its address
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    user: str | None = None  # The user that it runs as; None for this process's
    keeps_data: ClassVar[bool] = False  # Whether it has data that outlives it

    @property
    def folder(self) -> Path:
        """The folder of its locks, address and log."""
        return RUN / self.name

    @property
    def working_folder(self) -> Path:
        """The working directory that it runs in."""
        return self.folder

    def install(self) -> None:
        """Install its program if it is missing."""

    def prepare(self) -> None:
        """Prepare its data; called before each start."""

    def reset(self) -> None:
        """Delete its data."""

    def environment(self) -> dict[str, str]:
        """The environment that it runs in."""
        return dict(os.environ)

    @abstractmethod
    def command(self, port: int) -> list[str]:
        """The argument list that runs it in the foreground."""

    @abstractmethod
    def url(self, port: int) -> str:
        """Its address, for the setting."""

    @abstractmethod
    def is_ready(self, port: int) -> bool:
        """Whether it answers."""
