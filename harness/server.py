"""Runs one server in one of its deployments."""

import http.client
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from harness.build import build, environment
from harness.catalog import Target
from harness.errors import TaskError, UsageError
from harness.ports import require_free
from harness.processes import spawn, stop, wait_until

START = 60.0
"""Seconds that a server may take to answer."""

DEFAULTS = {"HOST": "127.0.0.1", "PORT": "8000", "WORKERS": "1", "THREADS": "50"}


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    target: Target
    process: subprocess.Popen[bytes]
    host: str
    port: int

    @property
    def url(self) -> str:
        """Where it is, without a trailing slash."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


@contextmanager
def running(
    target: Target,
    settings: Mapping[str, str],
    *,
    output: IO[str] | int | None = None,
    start: float = START,
) -> Iterator[Running]:
    """Build and start a server, wait until it answers /index, and stop it with all its children.

    ``settings`` are the contract's, by their names; they go before the environment's own.
    """
    build(target.server)
    env = DEFAULTS | environment() | dict(settings)
    host, port = env["HOST"], parse_port(env["PORT"])
    require_free(host, port)
    process = launch(target, settings, output=output)
    server = Running(target, process, host, port)
    try:
        wait_until(lambda: process.poll() is not None or answers(host, port), timeout=start)
        if process.poll() is not None:
            raise TaskError(f"{target.name} ended at once, exit status {process.returncode}")
        if not answers(host, port):
            raise TaskError(f"{target.name} did not answer /index within {start:.0f} s")
        yield server
    finally:
        stop(process)


def launch(
    target: Target, settings: Mapping[str, str], *, output: IO[str] | int | None = None
) -> subprocess.Popen[bytes]:
    """Start a server that is built, as the leader of a session of its own, and wait for nothing."""
    env = DEFAULTS | environment() | dict(settings)
    return spawn(_command(target, env), cwd=target.server.folder, env=env, output=output)


def _command(target: Target, env: Mapping[str, str]) -> list[str]:
    values = {name.lower(): env[name] for name in DEFAULTS}
    try:
        return [argument.format_map(values) for argument in target.deployment.run]
    except (KeyError, ValueError, IndexError) as error:
        raise UsageError(
            f"{target.server.folder / 'server.toml'}: deployment {target.deployment.name}: run: "
            f"only {{host}}, {{port}}, {{workers}} and {{threads}} can be filled in ({error!r})"
        ) from error


def parse_port(text: str) -> int:
    """A TCP port from a setting."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise UsageError(f"PORT must be a number from 1 to 65535, not {text!r}")
    return int(text)


def answers(host: str, port: int) -> bool:
    """Whether /index is answered with 200."""
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/index")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
