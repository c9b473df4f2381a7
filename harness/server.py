"""Runs one server in one of its deployments."""

import getpass
import http.client
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.build import build, environment
from harness.catalog import Target
from harness.errors import TaskError, UsageError
from harness.ports import require_free
from harness.processes import spawn, stop, wait_until
from harness.scratch import scratch

START = 180.0
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
    with scratch("servers") as folder:
        process = launch(target, {**settings, "SCRATCH": str(folder)}, output=output)
        server = Running(target, process, host, port)
        try:
            wait_until(lambda: process.poll() is not None or answers(host, port), timeout=start)
            if process.poll() is not None:
                status = process.returncode
                raise TaskError(f"{target.name} ended at once, exit status {status}{_tail(output)}")
            if not answers(host, port):
                raise TaskError(f"{target.name} did not answer /index within {start:.0f} s")
            yield server
        finally:
            stop(process)


def launch(
    target: Target, settings: Mapping[str, str], *, output: IO[str] | int | None = None
) -> subprocess.Popen[bytes]:
    """Start a server that is built, as the leader of a session of its own, and wait for nothing.

    A deployment with a ``config`` needs ``SCRATCH`` among the settings, a folder for it.
    """
    env = DEFAULTS | environment() | {"USER": getpass.getuser()} | dict(settings)
    return spawn(_command(target, env), cwd=target.server.folder, env=env, output=output)


def _command(target: Target, env: Mapping[str, str]) -> list[str]:
    deployment, folder = target.deployment, target.server.folder
    values = {name.lower(): env[name] for name in DEFAULTS}
    try:
        if deployment.config:
            template = (folder / deployment.config).read_text()
            filled = re.sub(r"\$\{([A-Z_]+)\}", lambda name: env[name[1]], template)
            path = Path(env["SCRATCH"]) / deployment.config
            path.write_text(filled)
            values["config"] = str(path)
        return [argument.format_map(values) for argument in deployment.run]
    except (KeyError, ValueError, IndexError, OSError) as error:
        raise UsageError(
            f"{folder / 'server.toml'}: deployment {deployment.name}: run and config: {error!r}; "
            f"what can be filled in is {', '.join(f'{{{name}}}' for name in values)}"
        ) from error


def _tail(output: IO[str] | int | None) -> str:
    """The last lines of a log, where there is one."""
    if output is None or isinstance(output, int):
        return ""
    lines = Path(output.name).read_text(errors="replace").splitlines()
    return "".join(f"\n{line}" for line in lines[-8:])


def require_workers(target: Target, workers: str) -> None:
    """Refuse several processes where a deployment is always one."""
    if workers != "1" and not target.deployment.workers:
        raise UsageError(
            f"{target.name} is always one process: its framework documents no several by itself; "
            "leave WORKERS at 1, or run several behind a proxy"
        )


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
