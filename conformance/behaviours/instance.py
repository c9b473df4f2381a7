"""Another instance of the deployment, for questions about its start and its end."""

import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals

import psutil

from conformance.behaviours.lab import Lab
from conformance.http import Connection
from conformance.subject import Subject
from harness.ports import answers, free_port
from harness.processes import stop, wait_until
from harness.server import launch

START = 180.0
"""Seconds that it may take to start, or to refuse its settings."""
_END = 30.0
"""Seconds that it may take to end: the contract's 15, and as much again on a busy machine."""
_QUIET = 0.5
"""Seconds without output after which the log counts as complete."""


@dataclass(frozen=True)
class Instance(Subject):
    """A server process that may not have started yet, on the databases without proxies."""

    process: subprocess.Popen[bytes] = field(kw_only=True)
    log: Path = field(kw_only=True)
    """Its stdout and stderr."""

    @property
    def has_ended(self) -> bool:
        """Whether its first process is gone."""
        return self.process.poll() is not None

    def serves(self) -> bool:
        """Wait until it answers /index or ends; return whether it answers."""

        def settled() -> bool:
            return self.has_ended or answers(self.host, self.port)

        return wait_until(settled, timeout=START) and not self.has_ended

    def ends(self, timeout: float = _END) -> int:
        """Wait until it ends; return the exit status."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it is still there {timeout:.0f} s later") from None

    def signal(self, number: Signals) -> None:
        """Send a signal to its first process."""
        ignored = signal.getsignal(number) == signal.SIG_IGN
        assert not ignored, (
            f"{number.name} is ignored here (nohup, &), and child processes inherit that"
        )
        self.process.send_signal(number)

    def stop(self, number: Signals) -> int:
        """Send a signal and wait until it ends; return the exit status."""
        self.signal(number)
        return self.ends()

    def processes(self) -> list[psutil.Process]:
        """Its processes, the parent first."""
        try:
            first = psutil.Process(self.process.pid)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def pids(self) -> set[int]:
        """The ids of its processes."""
        return {one.pid for one in self.processes()}

    def accepts(self, connection: Connection, timeout: float) -> psutil.Process | None:
        """Wait until one of its processes has accepted a connection; return that process."""
        port = connection.socket.getsockname()[1]
        found: list[psutil.Process] = []

        def accepted() -> bool:
            found.extend(one for one in self.processes() if port in _peers(one))
            return bool(found)

        wait_until(accepted, timeout=timeout)
        return found[0] if found else None

    def written(self, start: int = 0) -> str:
        """The log from byte ``start`` on, once it is complete."""
        size, since = -1, time.monotonic()
        deadline = since + 10 * _QUIET
        while time.monotonic() < min(since + _QUIET, deadline):
            if (now := self.log.stat().st_size) != size:
                size, since = now, time.monotonic()
            time.sleep(0.05)
        return self.log.read_bytes()[start:].decode(errors="replace")


def _peers(process: psutil.Process) -> set[int]:
    """The client ports of a process's connections."""
    try:
        return {one.raddr.port for one in process.net_connections("tcp") if one.raddr}
    except psutil.Error:
        return set()


@contextmanager
def launched(lab: Lab, **settings: str) -> Iterator[Instance]:
    """Start the same deployment with other settings, without waiting until it answers.

    It inherits the rest of the server's environment. All its processes are killed at the end of the
    block.
    """
    server, port = lab.controlled, free_port()
    folder = Path(tempfile.mkdtemp(prefix="instance-", dir=server.log.parent))
    own = server.processes()[0].environ() | server.services.environment()
    own |= {
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "WORKERS": "1",
        "FILES_DIR": str(server.files),
        "SCRATCH": str(folder),
        "PYTHONUNBUFFERED": "1",  # so that output is in the log at once
    }
    log = folder / "log.txt"
    with log.open("w") as output:
        process = launch(server.target, own | settings, output=output)
    try:
        yield Instance("127.0.0.1", port, server.parts, process=process, log=log)
    finally:
        stop(process, grace=0)


@contextmanager
def serving(lab: Lab, **settings: str) -> Iterator[Instance]:
    """The same, but wait until it serves."""
    with launched(lab, **settings) as instance:
        assert instance.serves(), f"it does not start: {instance.written()[-300:]}"
        yield instance
