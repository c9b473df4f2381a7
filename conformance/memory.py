"""How much memory a server takes while it sends a big body."""

import select
import time
from contextlib import ExitStack

import psutil

from conformance.http import Request
from conformance.subject import Controlled

ALLOWED = 16 * 1024 * 1024
"""Bytes by which a process may grow (contract: /files and /gridfs)."""

_PIECE = 1 << 18
_SLOW_CLIENTS = 10
_SLOW_SECONDS = 2.0


def serves_within(controlled: Controlled, target: str, size: int) -> None:
    """Fail if a process of the server grows by more than is allowed while it sends ``target``.

    The client reads a part, stops for a while, and reads the rest: a server that keeps what the
    client has not taken is caught while it waits, one that reads the file whole at any time.
    """
    before = _resident(controlled)
    _require_small(before, _download(controlled, target, size), target)


def serves_slow_clients_within(controlled: Controlled, target: str) -> None:
    """The same for ten clients at once that take about a megabyte a second each, and then leave."""
    before, most = _resident(controlled), _Most(controlled)
    with ExitStack() as held:
        sockets = []
        for _ in range(_SLOW_CLIENTS):
            connection = held.enter_context(controlled.connect())
            connection.send(Request(target).encode("x"))
            sockets.append(connection.socket)
        until = time.monotonic() + _SLOW_SECONDS
        while time.monotonic() < until:
            for ready in select.select(sockets, [], [], 0.06)[0]:
                assert ready.recv(1 << 16), f"{target}: a slow client was cut off"
            most.look()
            time.sleep(0.06)
    _require_small(before, most.resident, target)


def _require_small(before: dict[int, int], after: dict[int, int], target: str) -> None:
    for pid, resident in after.items():
        grown = resident - before.get(pid, resident)
        assert grown <= ALLOWED, (
            f"process {pid} grew by {grown / 2**20:.0f} MiB while it sent {target}: "
            "expected 16 MiB at most"
        )


class _Most:
    """The most that each process had resident, in bytes."""

    def __init__(self, controlled: Controlled) -> None:
        self.controlled = controlled
        self.resident: dict[int, int] = {}

    def look(self) -> None:
        for pid, resident in _resident(self.controlled).items():
            self.resident[pid] = max(self.resident.get(pid, 0), resident)


def _download(controlled: Controlled, target: str, size: int) -> dict[int, int]:
    """Read a response; gives the most that each process had resident meanwhile, in bytes."""
    most = _Most(controlled)
    with controlled.connect() as connection:
        connection.send(Request(target, headers=(("Connection", "close"),)).encode("x"))
        received = len(connection.socket.recv(_PIECE))
        time.sleep(0.4)
        most.look()
        while data := connection.socket.recv(_PIECE):
            before, received = received, received + len(data)
            if before >> 23 != received >> 23:
                most.look()
        most.look()
    assert received > size, f"{target}: {received} bytes came, expected over {size}"
    return most.resident


def _resident(controlled: Controlled) -> dict[int, int]:
    resident = {}
    for process in controlled.processes():
        try:
            resident[process.pid] = process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return resident
