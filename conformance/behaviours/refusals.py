"""The group `refusals`: the fate of broken and oversized requests."""

from functools import partial

from conformance.behaviours.connection import STATUS, connect, send
from conformance.behaviours.lab import Lab, asks, worst
from conformance.behaviours.page import Inapplicable
from conformance.hostile import BROKEN, SENTINEL
from conformance.http import statuses


def _refusal(data: bytes, lab: Lab) -> str:
    """The fate of a broken request, which a server may take for HTTP/0.9."""
    with connect(lab) as connection:
        send(connection, data)
        raw, ended = connection.read_until(STATUS.match)
        if not raw:
            return "closed" if ended else "waits"
        if not (status := STATUS.match(raw)):
            if lab.page.body is None:
                raise Inapplicable("the page varies, and has no status line here to tell it by")
            return "served as HTTP/0.9" if lab.page.body in raw else "refused"
        if status[1] == b"500":
            return "failed"
        if status[1][:1] in (b"4", b"5"):
            return "refused"
        send(connection, SENTINEL)
        _, ended = connection.read_until(lambda rest: len(statuses(raw + rest)) > 1)
        return "served, then closed" if ended else "served"


def _ask(id: str, lab: Lab) -> str:
    return worst(id, (_refusal(data, lab) for data in BROKEN[id]))


for _id in BROKEN:
    asks(_id, "text", needs="get")(partial(_ask, _id))
