"""Another instance of the deployment, for what happens at its start and its end."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from conformance.http import Connection
from conformance.subject import Controlled, Started
from harness.servers.running import launch
from harness.system.ports import answers, free_port
from harness.system.processes import stop, wait_until

START = 180.0  # seconds that it may take to start, or to refuse its settings


@dataclass(frozen=True)
class Instance(Started):
    """A server that may not have started yet, on the databases without proxies."""

    @property
    def has_ended(self) -> bool:
        """Whether its first process is gone."""
        return self.process.poll() is not None

    def serves(self, timeout: float | None = None) -> bool:
        """Wait until it answers /index or ends; return whether it answers."""

        def settled() -> bool:
            return self.has_ended or answers(self.host, self.port)

        return wait_until(settled, timeout=timeout or START) and not self.has_ended

    def accepts(self, connection: Connection, timeout: float) -> bool:
        """Whether one of its processes accepts a connection in time."""
        port = connection.socket.getsockname()[1]
        return wait_until(
            lambda: any(port in _peers(one) for one in self.processes()), timeout=timeout
        )


def _peers(process: psutil.Process) -> set[int]:
    """The client ports of a process's connections."""
    try:
        return {one.raddr.port for one in process.net_connections("tcp") if one.raddr}
    except psutil.Error:
        return set()


@contextmanager
def launched(server: Controlled, **settings: str) -> Iterator[Instance]:
    """Start the same deployment with other settings, without waiting until it answers.

    It inherits the rest of the server's environment. All its processes are killed at the end of the
    block.
    """
    port = free_port()
    folder = Path(tempfile.mkdtemp(prefix="instance-", dir=server.log.parent))
    own = {
        **server.environment,
        **server.services.environment(),
        "PORT": str(port),
        "SCRATCH": str(folder),
        "PYTHONUNBUFFERED": "1",  # so that output is in the log at once
        **settings,
    }
    log = folder / "log.txt"
    with log.open("w") as output:
        process = launch(server.target, own, output=output)
    try:
        yield Instance("127.0.0.1", port, server.parts, process=process, log=log)
    finally:
        stop(process, grace=0)


@contextmanager
def serving(server: Controlled) -> Iterator[Instance]:
    """Start the same deployment, and wait until it serves."""
    with launched(server) as instance:
        assert instance.serves(), f"it does not start: {instance.written()[-300:]}"
        yield instance
