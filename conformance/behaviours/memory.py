"""Questions about memory: how much a server uses while it sends big files."""

import contextlib
import math
import re
import select
import socket
import time
from contextlib import ExitStack
from pathlib import Path

from conformance import stored
from conformance.behaviours.lab import Lab, asks
from conformance.http import Request
from conformance.subject import BIG, Controlled, fresh_name

_MB = 1 << 20
_CLIENTS = 10
# Classes that lie well apart: a server that does not stream holds the whole body (100 MB), or
# batches of 16 MB, as MongoDB sends them
_CLASSES = {"under 100 MB": 100, "under 800 MB": 800, "more": math.inf}

# Megabytes: between what servers read ahead and the whole file
_PART = 60
# Seconds without reading after which the file counts as left
_LEFT = 4.0

_WARM_UP = 20  # requests, after which a server has its idle size
_HEAD = 4096  # more bytes than a response's head has
_LOOK = 0.1  # seconds between samples of the memory
# Seconds without growth or reading after which a server counts as having read all it will
_STILL = 1.0
_PATIENCE = 14.0  # seconds after which sampling ends in any case


@asks("file-memory-ten", "files", lane="alone")
def file_memory(lab: Lab) -> str:
    """Ten clients of a file of 100 MB, on a new server, so that earlier requests do not matter."""
    with lab.controlled.another() as server:
        return _grown(server, lab.patience, "/files/photo.jpg", "/files/big.bin")


@asks("gridfs-memory-ten", "gridfs", lane="alone")
def gridfs_memory(lab: Lab) -> str:
    """Ten clients of a file of 100 MB, on a new server."""
    name = fresh_name("bin")
    with stored.files(lab.controlled) as database, lab.controlled.another() as server:
        stored.store(database, name, bytes(BIG))
        return _grown(server, lab.patience, "/gridfs/photo.jpg", f"/gridfs/{name}")


@asks("gridfs-client-leaves", "gridfs", lane="alone")
def gridfs_client_leaves(lab: Lab) -> str:
    """A client of a file of 100 MB, which leaves once it has received some of it."""
    mongodb, name = lab.controlled.mongodb, fresh_name("bin")
    with stored.files(lab.controlled) as database:
        stored.store(database, name, bytes(BIG))
        begin = mongodb.received
        with lab.connect() as client:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            client.offer(Request(f"/gridfs/{name}").encode("x"))
            raw, _ = client.read_until(lambda raw: len(raw) > _HEAD)
        assert len(raw) > _HEAD, "the download does not begin"
        read, since = 0, time.monotonic()
        while read < _PART and time.monotonic() - since < _LEFT:
            if (now := (mongodb.received - begin) // _MB) > read:
                read, since = now, time.monotonic()
            time.sleep(_LOOK)
    return "stops" if read < _PART else "reads on"


class _Meter:
    """The peak growth of a server's processes, in bytes, since this was created.

    Before that, a small file or page is asked for, so that they have their idle size.
    """

    def __init__(self, server: Controlled, small: str) -> None:
        for _ in range(_WARM_UP):
            server.ask(small)
        self._pids, self._database = server.pids(), server.mongodb
        for pid in self._pids:
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("5")  # forgets the peak (proc(5))
        self._idle = self._peak()
        self.most, self._read, self._since = 0, 0, time.monotonic()

    def look(self) -> None:
        grown, read = self._peak() - self._idle, self._database.received // _MB
        if grown > self.most + _MB or read != self._read:
            self._since = time.monotonic()
        self.most, self._read = max(self.most, grown), read

    @property
    def is_still(self) -> bool:
        """Whether for a while they have neither grown nor read from the database."""
        return time.monotonic() - self._since > _STILL

    def _peak(self) -> int:
        """The sum of their peak resident sizes."""
        found = [Path(f"/proc/{pid}/status").read_text() for pid in self._pids]
        peaks = [re.search(r"VmHWM:\s*(\d+) kB", status) for status in found]
        return sum(int(peak[1]) << 10 for peak in peaks if peak)


def _grown(server: Controlled, patience: float, small: str, big: str) -> str:
    """Once all clients have received something, a server grows until it stops reading ahead."""
    enough = max(filter(math.isfinite, _CLASSES.values())) * _MB
    with ExitStack() as held:
        meter = _Meter(server, small)
        received: dict[socket.socket, int] = {}
        for _ in range(_CLIENTS):
            client = held.enter_context(server.connect()).socket
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            client.sendall(Request(big).encode("x"))
            received[client] = 0
        began, served = time.monotonic(), 0
        while meter.most < enough and (seconds := time.monotonic() - began) < _PATIENCE:
            if meter.is_still and (served == _CLIENTS or seconds > patience):
                break
            for ready in select.select(received, [], [], 0)[0]:
                data = ready.recv(1 << 16)
                assert data, f"{big}: a slow client was cut off"
                received[ready] += len(data)
            served = sum(count > _HEAD for count in received.values())
            meter.look()
            time.sleep(_LOOK)
        if served <= 1 and meter.most < enough:
            return "one at a time"
        return next(name for name, most in _CLASSES.items() if meter.most < most * _MB)
