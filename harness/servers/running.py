"""Runs one deployment of a server."""

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.console import say
from harness.errors import TaskError, UsageError
from harness.servers.build import build
from harness.servers.catalog import Target
from harness.servers.manifest import PLACEHOLDERS
from harness.servers.settings import environment, parse_port
from harness.system.ports import answers, http_url, in_brackets, require_free
from harness.system.processes import ending, spawn, stop, wait_until
from harness.system.scratch import scratch

_START = 180.0  # Seconds that a server may take to start
_SILENT = 5.0  # Seconds of these that pass without a word


@dataclass(frozen=True)
class Running:
    """A server that has started."""

    process: subprocess.Popen[bytes]
    host: str
    port: int
    environment: Mapping[str, str]  # Its whole environment

    @property
    def url(self) -> str:
        """Its address, without a trailing slash."""
        return http_url(self.host, self.port)


@contextmanager
def running(
    target: Target,
    settings: Mapping[str, str],
    *,
    output: IO[str] | None = None,
    tell: Callable[[str], None] = say,
) -> Iterator[Running]:
    """Build and start a server and wait until it answers /index; stop it at the end of the block.

    It has started once there is any HTTP response. ``settings`` are the contract's, by name;
    ``tell`` gets a line if it takes long.
    """
    build(target.server)
    with scratch("servers") as folder:
        env = environment(target, {**settings, "SCRATCH": str(folder)})
        host, port = env["HOST"], parse_port(env["PORT"])
        require_free(host, port)
        process = launch(target, env, output=output)
        try:

            def settled() -> bool:
                return process.poll() is not None or answers(host, port)

            in_time = wait_until(settled, timeout=_SILENT)
            if not in_time:
                tell(f"waiting for {target.name} to answer /index; {_START:.0f} s at most")
                in_time = wait_until(settled, timeout=_START - _SILENT)
            if process.poll() is not None:
                status = ending(process.returncode)
                raise TaskError(f"{target.name} ended during startup: {status}{_tail(output)}")
            if not in_time:
                raise TaskError(
                    f"{target.name} did not answer /index on port {port} within {_START:.0f} s: "
                    f"does it listen on the port of the setting PORT?{_tail(output)}"
                )
            yield Running(process, host, port, env)
        finally:
            stop(process)


def launch(
    target: Target, env: Mapping[str, str], *, output: IO[str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a server that is already built, without waiting until it answers.

    ``env`` is its whole environment. A deployment with a ``config`` needs ``SCRATCH`` in it, the
    folder to write that to.
    """
    return spawn(_command(target, env), cwd=target.server.folder, env=env, output=output)


def _command(target: Target, env: Mapping[str, str]) -> list[str]:
    deployment, folder = target.deployment, target.server.folder
    values = {name: env.get(name.upper(), "") for name in PLACEHOLDERS}
    values["address"] = f"{in_brackets(values['host'])}:{values['port']}"
    if deployment.config:
        config = Path(env["SCRATCH"]) / Path(deployment.config).name
        try:
            template = (folder / deployment.config).read_text()
            config.write_text(
                re.sub(r"\$\{([A-Z_]+)\}", lambda name: _plain(name[1], env), template)
            )
        except (KeyError, OSError) as error:
            raise UsageError(f"{folder / 'server.toml'}: config: {error}") from error
        values["config"] = str(config)
    return [argument.format_map(values) for argument in deployment.run]


def _plain(name: str, env: Mapping[str, str]) -> str:
    """A setting for a configuration file; refuses values that need quoting there."""
    value = in_brackets(env[name]) if name == "HOST" else env[name]
    if re.search(r"[\s'\"\\;{}$#]", value):
        raise UsageError(
            f"{name}={value} cannot be written to a configuration file: "
            "use a path without spaces and quotes"
        )
    return value


def _tail(output: IO[str] | None) -> str:
    """The last lines of the log, if there is one."""
    if output is None:
        return ""
    lines = Path(output.name).read_text(errors="replace").splitlines()
    return "".join(f"\n{line}" for line in lines[-8:])
