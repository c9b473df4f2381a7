"""The groups `smuggling` and `refusals`: the fate of ambiguous, broken and oversized requests.

What a parser does depends on how the bytes arrive: an ambiguous request, in which another one is
hidden, is sent in one segment, and again with its body after a second, or soon after an answer to
its head. The worse answer counts. Its body is a note that servers accept, since some close
connections on which they reject one; it is deleted, and not sent to a server that we did not start.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

from conformance import stored
from conformance.behaviours.lab import STATUS, Lab, asks, worst
from conformance.behaviours.page import CONTRACT, Inapplicable, Upload
from conformance.hostile import AMBIGUOUS, AMBIGUOUS_HEADS, BROKEN, SENTINEL, ambiguous
from conformance.http import Connection, Garbled, NoAnswer, Request, statuses
from conformance.subject import Controlled

_TITLE = "of an ambiguous request"
_NOTE = f'{{"title":"{_TITLE}","text":""}}'.encode()

# Seconds that a server has to answer before the body comes, long enough on a busy machine; and
# then to close the connection
_PAUSE, _CLOSING = 1.0, 0.15
# Statuses with which an application refuses a POST before it reads the body
_NO_ENDPOINT = {b"403", b"404", b"405", b"411", b"415"}

# Names of fates that mean something else for a question; for others, a response that was the
# connection's last, so that nothing could follow it, is harmless
_NAMES = {
    # By chunks, what follows them is right to be served, but not on this connection
    "length-and-chunked": {"smuggled": "connection kept"},
    "coding-twice": {"smuggled": "read as one"},
    "forbidden-trailer": {"smuggled": "ignored", "harmless": "taken", "last": "closed"},
}


def _pause(connection: Connection) -> None:
    """Leave the server time to answer what has come so far."""
    if connection.is_readable(_PAUSE):
        time.sleep(_CLOSING)


def _fates(id: str, lab: Lab) -> Iterator[str]:
    page, upload = lab.page, _upload(lab)
    made = partial(
        ambiguous,
        id,
        hidden=page.hidden_path,
        content=upload.content,
        media_type=upload.media_type,
        host=page.host,
    )
    requests = made(upload.path)
    if id in AMBIGUOUS_HEADS:
        requests += made(page.path, method="GET")
    sentinel = SENTINEL if page.tells else b""
    for data in requests:
        head, _, body = data.partition(b"\r\n\r\n")
        for segments in ([data + sentinel], [head + b"\r\n\r\n", body + sentinel]):
            fate = _fate(segments, lab)
            if id not in AMBIGUOUS_HEADS and fate in ("refused", "not exercised"):
                fate = "refused" if _reads_chunks(lab) else "not exercised"
            yield fate


def _upload(lab: Lab) -> Upload:
    """What to send, and where: only a server that we started gets a note that it stores."""
    upload = lab.page.upload
    assert upload is not None
    content = _NOTE if isinstance(lab.server, Controlled) else upload.content
    reads = lab.page is not CONTRACT or "notes" in lab.server.parts
    return replace(upload, path=upload.path if reads else lab.page.path, content=content)


@cache
def _reads_chunks(lab: Lab) -> bool:
    """Whether a valid chunked request succeeds, or the one after it is answered."""
    upload = _upload(lab)
    headers = [("Transfer-Encoding", "chunked")]
    headers += [("Content-Type", upload.media_type)] if upload.media_type else []
    request = Request(upload.path, "POST", tuple(headers), upload.content)
    with lab.connect() as connection:
        connection.offer(request.encode(lab.page.host) + SENTINEL)
        raw, _ = connection.read_until(lambda raw: len(statuses(bytes(raw))) > 1)
    first, *then = statuses(raw) or [b"400"]
    return first < b"400" or bool(then)


@cache
def _fails_by_content(lab: Lab) -> bool:
    """Whether a valid request fails if the application does not expect its content."""
    upload = _upload(lab)
    headers = {"Content_Type": upload.media_type} if upload.media_type else {}
    try:
        return lab.ask(upload.path, "POST", b"GET", **headers).status == 500
    except (NoAnswer, Garbled):
        return False


def _fate(segments: list[bytes], lab: Lab) -> str:
    """Read to the end of the connection, or to the response to the hidden request.

    If a server waits for more of the body, the sentinel becomes a part of it: then there is
    silence before or after the first response. A response to the hidden request comes before that.
    """
    with lab.connect() as connection:
        for segment in segments[:-1]:
            connection.offer(segment)
            _pause(connection)
        connection.offer(segments[-1])
        raw, ended = connection.read_until(lab.page.shows_hidden)
    if lab.page.shows_hidden(raw):
        return "smuggled"
    if not raw:
        return "closed" if ended else "waits"
    first, *then = statuses(raw) or [b"400"]
    goes_on = lab.page.unknown in then if lab.page.tells else not ended
    if first == b"500" and not (segments[0].startswith(b"POST") and _fails_by_content(lab)):
        return "failed"
    if first in _NO_ENDPOINT:
        return "harmless" if goes_on else "not exercised"
    # A handler may answer before its server has read, and refused, the body.
    if max([first, *then]) >= b"400" and not goes_on:
        return "refused" if ended else "waits"
    return "last" if ended and not goes_on else "harmless"


def _ask(id: str, lab: Lab) -> str:
    names = {"last": "harmless"} | _NAMES.get(id, {})
    try:
        return worst(id, (names.get(fate, fate) for fate in _fates(id, lab)))
    finally:
        if isinstance(lab.server, Controlled):
            with stored.database(lab.controlled) as database:
                database.notes.delete_many({"title": _TITLE})


for _id in AMBIGUOUS:
    asks(_id, "text", needs="post")(partial(_ask, _id))


@asks("responses-to-broken-body", "text")
def responses_to_broken_body(lab: Lab) -> str:
    """The body comes after the head, and the connection is read until it ends, or is silent."""
    typed = "/notes HTTP/1.1\r\nContent-Type: application/json"
    for begin in ("/index HTTP/1.1", "/notes HTTP/1.1", typed):
        with lab.connect() as connection:
            head = f"POST {begin}\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.offer(head.encode())
            _pause(connection)
            connection.offer(b"zz\r\nabc\r\n0\r\n\r\n")
            raw, _ = connection.read_until(lambda raw: len(STATUS.findall(raw)) > 1)
        if (count := len(STATUS.findall(raw))) != 1:
            return "two" if count else "none"
    return "one"


# Broken and oversized requests


def _refusal(data: bytes, lab: Lab) -> str:
    """The fate of a broken request, which a server may take for HTTP/0.9."""
    with lab.connect() as connection:
        connection.offer(data)
        raw, ended = connection.read_until(STATUS.match)
        if not raw:
            return "closed" if ended else "waits"
        if not (status := STATUS.match(raw)):
            if lab.page.body is None:
                raise Inapplicable("the page varies, and has no status line here to tell it by")
            if lab.page.body not in raw:
                return "closed"  # a client cannot read it
            if b" HTTP/" not in data:
                return "served as HTTP/0.9"
            return "served, then closed" if ended else "served"  # a client cannot read the line
        if status[1] == b"500":
            return "failed"
        if status[1][:1] in (b"3", b"4", b"5"):
            return "redirected" if status[1][:1] == b"3" else "refused"
        connection.offer(SENTINEL)
        rest, _ = connection.read_until(lambda rest: len(statuses(raw + rest)) > 1)
        return "served" if len(statuses(raw + rest)) > 1 else "served, then closed"


def _ask_refusal(id: str, lab: Lab) -> str:
    return worst(id, (_refusal(data, lab) for data in BROKEN[id]))


for _id in BROKEN:
    asks(_id, "text", needs="get")(partial(_ask_refusal, _id))
