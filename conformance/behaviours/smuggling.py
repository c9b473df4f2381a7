"""The group `smuggling`: the fate of a request that is hidden in an ambiguous one."""

import re
from functools import partial

from conformance.behaviours.connection import MESSAGE, read_until, send
from conformance.behaviours.refusals import ask_twice
from conformance.hostile import AMBIGUOUS
from conformance.http import Connection

_SENTINEL = b"GET /nothing-more HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
"""Ends the connection once everything before it is answered: no need to wait for silence."""

_APPLICATION = {b"403", b"404", b"405", b"415"}
"""Statuses with which an application refuses a POST: the server understood the request."""


def _smuggled(data: bytes, connection: Connection) -> str:
    """Read to the end of the connection, or to the response that shows the smuggling.

    If a server waits for more of the body, the sentinel becomes a part of it: then there is
    silence before or after the first response. A response to the hidden request comes before that.
    """
    send(connection, data + _SENTINEL)
    raw, ended = read_until(connection, lambda raw: MESSAGE in raw)
    if MESSAGE in raw:
        return "smuggled"
    if not raw:
        return "closed" if ended else "waits"
    status = re.match(rb"HTTP/\d\.\d (\d{3})", raw)
    refused = status is None or (status[1] >= b"400" and status[1] not in _APPLICATION)
    return "refused" if refused else "harmless"


for _id, _data in AMBIGUOUS.items():
    ask_twice(_id, partial(_smuggled, _data))
