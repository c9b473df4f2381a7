"""Clients that attack a server beside those of a load.

They are a process of their own, bounded in connections, and only ever go to a server that this task
has started on 127.0.0.1: ``python -m bench.generators.attackers ATTACK PORT``.
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.generators.interface import GeneratorError
from bench.workloads.workload import Attack
from harness.paths import ROOT
from harness.system.processes import ending, spawn, stop, wait_until

_HOST = "127.0.0.1"
_START = 30.0  # Seconds until they run, at the most
_BREAK = 0.05  # Seconds until one that was refused or cut off comes again
_BIG = "big.bin"  # A file that no buffer holds
_REQUEST = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n"


async def _send_slowly(client: socket.socket) -> None:
    """Send a byte of a header each second."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, _REQUEST % b"index" + b"X-Slow: ")
    while True:
        await loop.sock_sendall(client, b"x")
        await asyncio.sleep(1)


async def _read_slowly(client: socket.socket) -> None:
    """Ask for a big file, and read a byte of it each second."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, _REQUEST % f"files/{_BIG}".encode() + b"\r\n")
    while await loop.sock_recv(client, 1):
        await asyncio.sleep(1)


async def _stay(client: socket.socket) -> None:
    """Send nothing until the server closes the connection."""
    await asyncio.get_running_loop().sock_recv(client, 1)


async def _malform(client: socket.socket) -> None:
    """Send malformed requests, one after another."""
    loop = asyncio.get_running_loop()
    answer = b"-"
    while answer:
        await loop.sock_sendall(client, _REQUEST % b"index" + b"no colon\r\n\r\n")
        answer = await loop.sock_recv(client, 1 << 16)
        await asyncio.sleep(_BREAK)


class Attackers(NamedTuple):
    """How many connections do what."""

    connections: int
    behave: Callable[[socket.socket], Awaitable[None]]
    arrival: float = 2.0  # Seconds in which they come, before the load begins


ATTACKS: dict[Attack, Attackers] = {
    "slow senders": Attackers(500, _send_slowly),
    # First the server fills the kernel's buffers of all, which takes up to 12 s of one core.
    "slow readers": Attackers(500, _read_slowly, arrival=15.0),
    "idle connections": Attackers(1_000, _stay),
    "malformed requests": Attackers(50, _malform),
}


@contextmanager
def attacking(kind: Attack | None, port: int, folder: Path) -> Iterator[list[psutil.Process]]:
    """Attack a server of this machine inside the block; yields the processes that do.

    ``folder`` is for their log. Raises :class:`GeneratorError` if they do not come, or end before
    the block does.
    """
    if kind is None:
        yield []
        return
    log = folder / "attackers.txt"
    with log.open("w") as output:
        process = spawn(
            [sys.executable, "-m", __name__, kind, str(port)],
            cwd=ROOT,
            env=os.environ,
            output=output,
        )
        try:
            started = wait_until(
                lambda: log.stat().st_size > 0 or process.poll() is not None, timeout=_START
            )
            _require_running(process, log)
            if not started:
                raise GeneratorError(f"attackers did not start within {_START:.0f} s")
            time.sleep(ATTACKS[kind].arrival)
            yield [psutil.Process(process.pid)]
            _require_running(process, log)
        finally:
            stop(process, grace=1)


def _require_running(process: subprocess.Popen[bytes], log: Path) -> None:
    if (status := process.poll()) is not None:
        raise GeneratorError(f"attackers: {ending(status)}\n{log.read_text()[-800:]}")


def files_to_attack(folder: Path) -> Path:
    """Make a folder of files that has what slow readers ask for; return it."""
    files = folder / "files"
    files.mkdir()
    with (files / _BIG).open("wb") as big:
        big.truncate(16_000_000)
    return files


async def _attack(kind: Attack, port: int) -> None:
    """Write a line, and attack until this process ends."""
    connections, behave, _ = ATTACKS[kind]
    print(f"{connections} {kind}", flush=True)
    await asyncio.gather(*(_come_again(behave, port) for _ in range(connections)))


async def _come_again(behave: Callable[[socket.socket], Awaitable[None]], port: int) -> None:
    while True:
        with suppress(OSError), socket.socket() as client:
            client.setblocking(False)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await asyncio.get_running_loop().sock_connect(client, (_HOST, port))
            await behave(client)
        await asyncio.sleep(_BREAK)


if __name__ == "__main__":
    asyncio.run(_attack(sys.argv[1], int(sys.argv[2])))  # type: ignore[arg-type]
