"""The group `bodies`, and bodies that nobody reads.

A note that gets stored is deleted.
"""

import contextlib
import json
import socket
import time
from dataclasses import replace
from functools import partial

from bson import ObjectId

from conformance import stored
from conformance.behaviours.lab import CLOSES, JSON, LAST, Lab, asks
from conformance.http import Closed, Garbled, NoAnswer, Request, Response, Silence

_BEGIN = 1 << 16  # bytes of a request that come at once
_PAUSE = 0.3  # seconds until the others come

_NOTE = b'{"title":"t","text":""}'
_TYPE = "application/json"


def _post(body: bytes, media_type: str | None = _TYPE, *headers: tuple[str, str]) -> bytes:
    headers += (("Content-Type", media_type),) if media_type else ()
    return Request("/notes", "POST", headers, body).encode("x")


def _fate(data: bytes, lab: Lab) -> str:
    """What is stored; or else ``refused``, ``failed``, ``closed``, ``waits``, or 4xx."""
    with lab.connect() as connection:
        connection.offer(data[:_BEGIN])
        if rest := data[_BEGIN:]:
            time.sleep(_PAUSE)  # in which what is refused by its beginning is answered
            connection.offer(rest)
        try:
            response = connection.receive(Request("/notes", "POST"))
        except NoAnswer as error:
            return error.fate
    if response.status != 201:
        named = {400: "refused", 422: "refused"} | dict.fromkeys(range(500, 600), "failed")
        return named.get(response.status, str(response.status))
    note = json.loads(response.body.decode(errors="replace"))
    with stored.database(lab.controlled) as database:
        database.notes.delete_one({"_id": ObjectId(note["_id"])})
    return _STORED.get(note["title"], "altered")


_STORED = {"t": "taken", "first": "the first", "last": "the last"}  # by title
_NESTED = b"[" * 10_000 + b"]" * 10_000

for _id, _data in {
    "body-of-2-mb": _post(_NOTE + b" " * (2 << 20)),
    "json-nested": _post(b'{"title":"t","text":"","more":%s}' % _NESTED),
    "json-duplicate-members": _post(b'{"title":"first","title":"last","text":""}'),
    "json-not-a-number": _post(b'{"title":"t","text":"","more":NaN}'),
    "json-invalid-utf-8": _post(b'{"title":"t\xff","text":""}'),
    "json-without-type": _post(_NOTE, None),
    "json-as-text": _post(_NOTE, "text/plain"),
}.items():
    asks(_id, "notes", control=True)(partial(_fate, _data))


@asks("chunk-extension-of-1-mb", "notes", control=True)
def chunk_extension(lab: Lab) -> str:
    """A server has a limit only if it takes a short one."""
    long, short = (_fate(_extended(size), lab) for size in (1 << 20, 1))
    return long if short == "taken" or long in ("failed", "waits") else "none taken"


def _extended(size: int) -> bytes:
    """A note in a chunk with an extension of so many bytes."""
    data = _post(_NOTE, _TYPE, ("Transfer-Encoding", "chunked"))
    return data.replace(b"\r\n" + _NOTE, b";%s\r\n%s" % (b"a" * size, _NOTE))


# A body that nobody reads

_POST = Request("/index", "POST", body=JSON.encode("x"))


def _body_fate(request: Request, lab: Lab) -> str:
    """The body is a request itself, which shows whether it is taken for one.

    A client that expects 100 sends it after the first status.
    """
    head, _, body = request.encode("x").partition(b"\r\n\r\n")
    first: Response | None = None
    then: Response | None = None
    with lab.connect() as connection:
        connection.offer(head + b"\r\n\r\n")
        with contextlib.suppress(TimeoutError):
            if request.headers and b" 100" in connection.socket.recv(12, socket.MSG_PEEK):
                return "asked for"
        connection.offer(body + LAST.encode("x"))
        try:
            first = connection.receive(request)
            then = connection.receive(LAST)
        except Silence:
            if first is None or not first.is_last:
                return "waits"
        except Garbled:
            return "taken for a request"
        except Closed:
            pass
    if then is None:
        return "closed" if lab.keeps_alive() else CLOSES
    return "next one answered" if lab.page.is_in(then) else "taken for a request"


for _id, _request, _parts in (
    ("refused-body", _POST, ()),
    ("unexpected-body", replace(_POST, headers=(("Expect", "100-continue"),)), ()),
    ("body-of-unknown-path", replace(_POST, target="/nothing"), ()),
    ("body-of-get", replace(_POST, target="/files/photo.jpg", method="GET"), ("files",)),
):
    asks(_id, "text", "json", *_parts)(partial(_body_fate, _request))
