"""How much memory a server takes while it sends a big body, as a class."""

import select
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack

from conformance.behaviours.lab import Lab
from conformance.http import Request
from conformance.subject import Controlled

_MB = 1 << 20
_CLASSES = {"under 16 MB": 16 * _MB, "under 64 MB": 64 * _MB, "under 256 MB": 256 * _MB}
_MOST = max(_CLASSES.values())

_WARM_UP = 20
"""Requests for something small, after which a server is as big as little work makes it."""
_MEASUREMENTS = 3
_ENOUGH = 5.0
"""Seconds after which nothing is measured once more."""

_CLIENTS = 10
_HEAD = 4096
"""Bytes that are more than a response's head."""
_LOOK = 0.1
"""Seconds from one look at the memory to the next."""
_QUEUE = 5.0
"""Seconds after which clients that have got nothing are taken to wait for their turn."""
_STILL = 1.0
"""Seconds without growth after which a server holds all that it will hold."""
_PATIENCE = 8.0
"""Seconds after which it is taken as it is."""


def for_one(small: str, big: str, lab: Lab) -> str:
    """The class of growth while one client downloads ``big``, and rests after the first bytes.

    A server that reads ahead of its client grows while the client rests; one that reads everything
    before it sends has grown by then.
    """
    return _least(lab, small, lambda server, meter: _download(server, meter, big))


def for_ten(small: str, big: str, lab: Lab) -> str:
    """The same for ten clients at once, each of which reads about half a megabyte a second."""
    return _least(lab, small, lambda server, meter: _trickle(server, meter, big))


class _Meter:
    """By how many bytes a server's processes have grown since they were idle."""

    def __init__(self, server: Controlled) -> None:
        self._processes = server.processes()
        self._idle = self._resident()
        self.most = 0
        self._before, self._since = 0, time.monotonic()

    def reset(self) -> None:
        """Forget how much it was at the most."""
        self.most = self._before = 0
        self._since = time.monotonic()

    def look(self) -> None:
        grown = self._resident() - self._idle
        self.most = max(self.most, grown)
        if grown > self._before + _MB:
            self._before, self._since = grown, time.monotonic()

    @property
    def is_still(self) -> bool:
        """Whether they have not grown for a while, or are beyond every class."""
        return time.monotonic() - self._since > _STILL or self.most >= _MOST

    def _resident(self) -> int:
        return sum(process.memory_info().rss for process in self._processes)


Measure = Callable[[Controlled, _Meter], bool]
"""Loads a server; False if it served one client at a time."""


def _least(lab: Lab, small: str, measure: Measure) -> str:
    """The class of the least of a few measurements on a server of its own.

    What a runtime frees late, or keeps for later, counts: all are compared with the idle server.
    """
    with lab.start() as server:
        for _ in range(_WARM_UP):
            server.ask(small)
        meter, grown = _Meter(server), []
        began = time.monotonic()
        for _ in range(_MEASUREMENTS):
            meter.reset()
            if not measure(server, meter):
                return "one at a time"
            grown.append(meter.most)
            if _class(meter.most) == "under 16 MB" or time.monotonic() - began > _ENOUGH:
                break
        return _class(min(grown))


def _class(grown: int) -> str:
    return next((name for name, limit in _CLASSES.items() if grown < limit), "more")


def _download(server: Controlled, meter: _Meter, target: str) -> bool:
    with server.connect() as connection:
        connection.send(Request(target, headers=(("Connection", "close"),)).encode("x"))
        received = len(connection.socket.recv(_HEAD))
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and not meter.is_still:
            meter.look()
            time.sleep(_LOOK)
        while data := connection.socket.recv(1 << 18):
            before, received = received, received + len(data)
            if before >> 23 != received >> 23:
                meter.look()
        meter.look()
    assert received > 100 * _MB, f"{target}: {received} bytes came, expected over 100 MB"
    return True


def _trickle(server: Controlled, meter: _Meter, target: str) -> bool:
    with ExitStack() as held:
        received: dict[socket.socket, int] = {}
        for _ in range(_CLIENTS):
            client = held.enter_context(server.connect()).socket
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            client.sendall(Request(target).encode("x"))
            received[client] = 0
        began = time.monotonic()
        while not _is_settled(meter, served := _served(received), time.monotonic() - began):
            for ready in select.select(received, [], [], 0)[0]:
                data = ready.recv(1 << 16)
                assert data, f"{target}: a slow client was cut off"
                received[ready] += len(data)
            meter.look()
            time.sleep(_LOOK)
        return served > 1


def _served(received: dict[socket.socket, int]) -> int:
    return sum(count > _HEAD for count in received.values())


def _is_settled(meter: _Meter, served: int, seconds: float) -> bool:
    """Whether nothing more is to be expected of ten clients, so many of which have been served."""
    if meter.most >= _MOST or seconds > _PATIENCE:
        return True
    return meter.is_still and (served == _CLIENTS or seconds > _QUEUE)
