"""A task's connection to the supervisor (:mod:`harness.services.supervisor`)."""

import json
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Client,
    Connection,
    Pipe,
    answer_challenge,
    deliver_challenge,
)

from harness.console import say
from harness.errors import TaskError
from harness.paths import ROOT, RUN
from harness.services.fixtures import fill
from harness.services.service import Service
from harness.system.locks import claim, locked

FOLDER = RUN / "services"
LOCK = FOLDER / "lock"  # Held by the supervisor, until all services have stopped
ADDRESS = FOLDER / "address"  # The supervisor's address, and the key that a task must have

_LOG = FOLDER / "log"
_ATTEMPTS = 5
_PATIENCE = 5.0  # Seconds that the supervisor may take to notice that a task has ended


@contextmanager
def leased(services: Sequence[Service]) -> Iterator[dict[str, str]]:
    """Run ``services`` for the length of the block; yields the address for each setting.

    If one ends, it is restarted at its address, and what differs from the fixtures is restored. If
    that fails, the task is ended by SIGTERM.
    """
    if not services:
        yield {}
        return
    with locked(RUN / "locks" / "services"):
        for service in services:
            service.install()
    lease = _Lease(services)
    watch = threading.Thread(target=lease.follow, daemon=True)
    try:
        lease.wait()
        watch.start()
        yield {service.setting: lease.addresses[service.name] for service in services}
    finally:
        lease.end()
        if watch.ident:
            watch.join(_PATIENCE)


class _Lease:
    """The services run while this is held."""

    def __init__(self, services: Sequence[Service]) -> None:
        self.addresses: dict[str, str] = {}
        self._settings = {service.name: service.setting for service in services}
        self._connection: Connection | None = None
        self._ended = False

    def wait(self) -> None:
        """Wait for all addresses."""
        while len(self.addresses) < len(self._settings):
            self._take(*self._receive())

    def follow(self) -> None:
        """Take what the supervisor tells, until the lease ends."""
        try:
            while True:
                self._take(*self._receive())
        except TaskError as error:
            if not self._ended:
                say(f"error: {error}")
                # A real signal: _thread.interrupt_main() does not wake a thread that waits.
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    def end(self) -> None:
        """Give the services back; the supervisor then closes the connection."""
        self._ended = True
        if self._connection:
            with suppress(OSError):
                self._connection.send("goodbye")

    def _take(self, *message: str) -> None:
        match message:
            case "say", text:
                say(text)
            case "error", text:
                raise TaskError(text)
            case "address", name, address:
                before = self.addresses.get(name)
                if before not in (None, address):
                    raise TaskError(f"{name} has another address now: start this task again")
                self.addresses[name] = address
                if before:
                    with suppress(TaskError):  # if it has ended again, this is repeated
                        fill({self._settings[name]: address})
                    say(f"{name} had ended; it is running again at the same address")

    def _receive(self) -> tuple[str, ...]:
        """What the supervisor tells next; if it has ended, what another one does."""
        for _ in range(_ATTEMPTS):
            self._connection = self._connection or _connect([*self._settings])
            if self._ended:  # while this connected
                self.end()
            with suppress(EOFError, OSError):
                message: tuple[str, ...] = self._connection.recv()
                return message
            self._connection = None
            if self._ended:
                break
        raise TaskError(f"the services' supervisor ends whenever it is started: see {_LOG}")


def _connect(names: list[str]) -> Connection:
    """Ask the supervisor for these services; start it unless there is one."""
    patient = time.monotonic() + _PATIENCE
    while True:
        if lock := claim(LOCK):
            with lock:
                connection = _start(lock.fileno())
            connection.send(names)
            return connection
        with suppress(OSError, ValueError, EOFError, AuthenticationError):
            address, key = json.loads(ADDRESS.read_text())
            connection = _join(tuple(address), key)
            connection.send(names)
            return connection
        if time.monotonic() > patient:
            patient = math.inf
            say("waiting until another task has stopped its services")
        time.sleep(0.05)  # the supervisor is about to serve, or about to end


def _join(address: tuple[str, int], key: str) -> Connection:
    """Connect to the supervisor, unless another program has the port of one that was killed."""
    connection = Client(address)
    if not connection.poll(_PATIENCE):
        raise EOFError
    answer_challenge(connection, key.encode())
    deliver_challenge(connection, key.encode())
    return connection


def _start(lock: int) -> Connection:
    """Start the supervisor, which inherits the lock."""
    FOLDER.chmod(0o700)
    ADDRESS.unlink(missing_ok=True)
    ours, theirs = Pipe()
    with theirs, _LOG.open("w") as log:
        subprocess.Popen(
            [sys.executable, "-m", "harness.services.supervisor", str(theirs.fileno())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(lock, theirs.fileno()),
            start_new_session=True,
        )
    return ours
