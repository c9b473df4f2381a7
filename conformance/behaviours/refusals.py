"""The group `refusals`: each broken request, as the first and as the second on a connection."""

import re
from collections.abc import Callable
from functools import partial

from conformance.behaviours.connection import (
    HELLO,
    connect,
    keeps_alive,
    read_until,
    says_close,
    send,
)
from conformance.behaviours.lab import Lab, asks
from conformance.hostile import BROKEN
from conformance.http import Connection, Request
from spec.behaviours import CLOSES

Provoke = Callable[[Connection], str]
"""Sends the request of a question and names the outcome."""


def ask_twice(id: str, provoke: Provoke) -> None:
    """Register a question, and the same for the second request on a connection."""
    asks(id, "text")(partial(_first, provoke))
    asks(f"{id}-second", "text")(partial(_second, provoke))


def _first(provoke: Provoke, lab: Lab) -> str:
    with connect(lab) as connection:
        return provoke(connection)


def _second(provoke: Provoke, lab: Lab) -> str:
    with connect(lab) as connection:
        if says_close(connection.request(Request("/index"))):
            return CLOSES
        answer = provoke(connection)
    # Some close without announcing it
    return CLOSES if answer == "closed" and not keeps_alive(lab) else answer


_SETTINGS = re.compile(rb"...\x04\x00....", re.DOTALL)
"""The start of a SETTINGS frame, the first of every HTTP/2 connection (RFC 9113, section 3.4)."""


def _refusal(data: bytes, connection: Connection) -> str:
    """The fate of a broken request; a server may take one for HTTP/0.9 or HTTP/2."""
    send(connection, data)
    raw, ended = read_until(
        connection,
        lambda raw: re.match(rb"HTTP/\d\.\d \d{3}", raw) or _SETTINGS.match(raw),
    )
    if not raw:
        return "closed" if ended else "waits"
    if status := re.match(rb"HTTP/\d\.\d (\d)", raw):
        return "refused" if status[1] in (b"4", b"5") else "served"
    return "served" if _SETTINGS.match(raw) or HELLO in raw else "refused"


for _id, _data in BROKEN.items():
    ask_twice(_id, partial(_refusal, _data))
