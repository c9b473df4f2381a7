"""The group `connection`, continued: clients that are slow, silent, many or greedy."""

import contextlib
import time
from contextlib import ExitStack
from functools import partial

from conformance.behaviours.lab import CLOSES, HEAD, INDEX, Lab, asks
from conformance.http import Closed, Connection, Silence

_HALF = HEAD.encode() + b"X-A: b"
_HALF_A_NOTE = (
    b"POST /notes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b'Content-Length: 1000\r\n\r\n{"title":"t","text":"'
)
SOON, WAIT = 13.0, 37.0  # seconds, a little more than those that the answers name
_MUCH = 20 << 20


# Seconds after which a request in parallel with half-sent ones counts as unanswered
_LONGEST = 15.0
_QUICK = 1.0  # seconds within which a response counts as immediate
_NOISE = 3.0  # seconds that cannot be explained by a busy machine


def _crowd(sent: bytes, count: int | None, lab: Lab) -> str:
    """By default ten more than there are threads; up to three attempts, for a busy machine."""
    count = count or int(lab.controlled.environment["THREADS"]) + 10
    for _ in range(3):
        took = _response_time(lab, sent, count)
        if not _QUICK < took < _NOISE:
            break
    if took < _QUICK:
        return "at once"
    return "within 15 s" if took < _LONGEST else "not"


def _response_time(lab: Lab, sent: bytes, count: int) -> float:
    """The response time in seconds of a request, while ``count`` clients have sent ``sent``."""
    with ExitStack() as held:
        for _ in range(count):
            try:
                other = held.enter_context(lab.server.connect(1))
            except (TimeoutError, ConnectionError):  # the accept queue is full
                break
            other.offer(sent)
        start = time.monotonic()
        with contextlib.suppress(TimeoutError, ConnectionError, Closed, Silence):
            other = held.enter_context(lab.server.connect(_LONGEST))
            other.socket.settimeout(max(start + _LONGEST - time.monotonic(), 0.1))
            if other.request(INDEX).status == 200:
                return time.monotonic() - start
    return _LONGEST


for _id, _sent, _count in (
    ("half-sent-requests", _HALF, None),
    ("silent-connections", b"", None),
    ("1000-connections", b"", 1000),
):
    asks(_id, "text", lane="alone")(partial(_crowd, _sent, _count))


# Clients that take their time


def _life(connection: Connection, byte: bytes = b"") -> str:
    """When the server closes a connection, on which another byte is sent each second."""
    began = time.monotonic()
    connection.socket.settimeout(1)
    while (seconds := time.monotonic() - began) < WAIT:
        connection.offer(byte)
        with contextlib.suppress(TimeoutError):
            while connection.read_some():
                pass
            return "within 10 s" if seconds < SOON else "within 35 s"
    return "longer"


@asks("idle-connection", "text", lane="waiting", needs="get")
def idle_connection(lab: Lab) -> str:
    """After one response."""
    if not lab.keeps_alive():
        return CLOSES
    with lab.connect() as connection:
        connection.request(INDEX)
        return _life(connection)


def _slow(begin: bytes, lab: Lab) -> str:
    with lab.connect() as connection:
        connection.offer(begin)
        return _life(connection, b"a")


asks("slow-head", "text", lane="waiting", needs="get")(partial(_slow, _HALF))
asks("slow-body", "notes", lane="waiting")(partial(_slow, _HALF_A_NOTE))


# Clients that send too much


@asks("endless-head", "text")
def endless_head(lab: Lab) -> str:
    """20 MB of headers, each of 1 KB."""
    piece = (b"X-A: " + b"a" * 1017 + b"\r\n") * 64
    with lab.connect() as connection:
        try:
            connection.send(HEAD.encode())
            for _ in range(_MUCH // len(piece)):
                connection.send(piece)
                if connection.is_readable():
                    break
        except TimeoutError:
            return "waits"
        except OSError:
            pass
        raw, ended = connection.read_until(lambda raw: b"\r\n" in raw)
    return "refused" if raw else "closed" if ended else "read"
