"""How much memory a server takes while it sends a big body."""

import time

import psutil

from conformance.http import Request
from conformance.subject import Controlled

ALLOWED = 16 * 1024 * 1024
"""Bytes by which a process may grow (contract: /files and /gridfs)."""

_PIECE = 1 << 18


def serves_within(controlled: Controlled, target: str, size: int) -> None:
    """Fail if a process of the server grows by more than is allowed while it sends ``target``.

    The client reads a part, stops for a while, and reads the rest: a server that keeps what the
    client has not taken is caught while it waits, one that reads the file whole at any time.
    """
    before = _resident(controlled)
    after = _download(controlled, target, size)
    for pid, resident in after.items():
        grown = resident - before.get(pid, resident)
        assert grown <= ALLOWED, (
            f"process {pid} grew by {grown / 2**20:.0f} MiB while it sent {target} "
            f"({size / 2**20:.0f} MiB): expected 16 MiB at most"
        )


def _download(controlled: Controlled, target: str, size: int) -> dict[int, int]:
    """Read a response; gives the most that each process had resident meanwhile, in bytes."""
    most: dict[int, int] = {}

    def look() -> None:
        for pid, resident in _resident(controlled).items():
            most[pid] = max(most.get(pid, 0), resident)

    with controlled.connect() as connection:
        connection.send(Request(target, headers=(("Connection", "close"),)).encode("x"))
        received = len(connection.socket.recv(_PIECE))
        time.sleep(0.4)
        look()
        while data := connection.socket.recv(_PIECE):
            before, received = received, received + len(data)
            if before >> 23 != received >> 23:
                look()
        look()
    assert received > size, f"{target}: {received} bytes came, expected over {size}"
    return most


def _resident(controlled: Controlled) -> dict[int, int]:
    resident = {}
    for process in controlled.processes():
        try:
            resident[process.pid] = process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return resident
