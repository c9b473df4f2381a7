"""The interface of a service to its supervisor."""

import os
import pwd
import secrets
import shutil
import signal
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from harness.errors import TaskError
from harness.paths import ROOT, RUN
from harness.services.places import make_separate, places
from harness.system.files import write_whole
from harness.toolchains.wheel import install_wheel

_ORDINARY_USER = "nobody"  # PostgreSQL refuses to run as root


class Service(ABC):
    """A program that serves on a loopback port."""

    name: ClassVar[str]
    setting: ClassVar[str]  # The environment variable that holds its address
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    user: str | None = None  # The user that it runs as; None for this process's
    working_folder: Path = ROOT  # The working directory that it runs in

    def __init__(self, folder: Path | None = None) -> None:
        """Take the folder of its lock, port and log, if it is not that of the tasks."""
        self.folder = folder or RUN / self.name

    def install(self) -> None:
        """Install its program if it is missing."""

    def prepare(self) -> None:
        """Prepare its data; called before each start."""

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


class Database(Service):
    """A service whose data and password outlive it. They are never deleted by themselves."""

    def __init__(self, folder: Path | None = None) -> None:
        """Choose the user, and folders that it can access."""
        super().__init__(folder)
        self.user = _ORDINARY_USER if os.geteuid() == 0 else None
        self.program, home = places(self.name)
        self.home = folder or home
        self.data = self.working_folder = self.home / "data"
        self._password = self.home / "password"

    def install(self) -> None:
        make_separate(self.program.parent)
        install_wheel(self.name, self.program)

    def prepare(self) -> None:
        """Create its data and a password, unless they exist."""
        if not self.data.is_dir():
            draft, password = self.home / "data.new", secrets.token_hex(16)
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(mode=0o700, parents=True)
            self._hand_over(draft)
            self.initialise(draft, password)
            write_whole(self._password, password, private=True)
            draft.replace(self.data)
        elif not self._password.is_file():
            raise TaskError(f"{self.data} needs its password, {self._password}, which is missing")
        self._hand_over(self.data)

    def _hand_over(self, folder: Path) -> None:
        """Give a folder to the database's user, with what root has written to it.

        The folder itself comes last, so that what was interrupted is done again.
        """
        if self.user and folder.stat().st_uid != (uid := pwd.getpwnam(self.user).pw_uid):
            for path in (*folder.rglob("*"), folder):
                os.lchown(path, uid, -1)

    def initialise(self, data: Path, password: str) -> None:
        """Write new data to an empty folder."""

    def reset(self) -> None:
        self._password.unlink(missing_ok=True)
        shutil.rmtree(self.data, ignore_errors=True)
