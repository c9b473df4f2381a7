"""The group `files`: how a stack serves the files of a folder, beyond content and type."""

import contextlib
import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from email.utils import formatdate, parsedate_to_datetime
from functools import partial
from math import floor

import spec
from conformance import memory
from conformance.behaviours.lab import Lab, asks, asks_several
from conformance.http import Closed, Connection, Garbled, Request, Response, Silence
from conformance.subject import MODIFIED, Subject
from harness.processes import wait_until
from spec import media_types

_PHOTO = "/files/photo.jpg"
_CONTENT = spec.files()["photo.jpg"]
_SIZE = len(_CONTENT)


def fate(outcome: str) -> str:
    """The fate of a request in a word, from the result of :meth:`Lab.outcome`."""
    if outcome == "404":
        return "not found"
    named = {"2": "served", "3": "redirected", "4": "refused", "5": "failed"}
    return named.get(outcome[0], outcome)


# Validators and conditions


def validators(target: str, lab: Lab) -> str:
    """Which of the two validators a response has."""
    response = lab.ask(target)
    etag, date = response.header("ETag") is not None, response.header("Last-Modified") is not None
    return {(True, True): "both", (True, False): "etag", (False, True): "date"}.get(
        (etag, date), "none"
    )


def if_none_match(target: str, form: str, lab: Lab) -> str:
    """The status of a request with the response's own ETag, written into ``form``."""
    etag = lab.ask(target).header("ETag")
    if etag is None:
        return "no etag"
    return lab.outcome(target, If_None_Match=form.format(etag=etag))


asks("file-validators", "files")(partial(validators, _PHOTO))
asks("if-none-match", "files")(partial(if_none_match, _PHOTO, "{etag}"))
asks("if-none-match-list", "files")(partial(if_none_match, _PHOTO, '"other", {etag}, "another"'))


@asks("etag-strength", "files")
def etag_strength(lab: Lab) -> str:
    """An entity tag must be in double quotes."""
    etag = lab.ask(_PHOTO).header("ETag")
    if etag is None:
        return "none"
    if re.fullmatch(r'(W/)?"[!#-~\x80-\xff]*"', etag) is None:
        return "malformed"
    return "weak" if etag.startswith("W/") else "strong"


@asks("if-modified-since", "files")
def if_modified_since(lab: Lab) -> str:
    """The date is the response's own Last-Modified."""
    date = lab.ask(_PHOTO).header("Last-Modified")
    if date is None:
        return "no date"
    return lab.outcome(_PHOTO, If_Modified_Since=date)


@asks("two-conditions", "files")
def two_conditions(lab: Lab) -> str:
    """The tag does not match; the date is the file's, or now if the file has none."""
    date = lab.ask(_PHOTO).header("Last-Modified") or formatdate(time.time(), usegmt=True)
    return lab.outcome(_PHOTO, If_None_Match='"other"', If_Modified_Since=date)


@asks("etag-in-304", "files")
def etag_in_304(lab: Lab) -> str:
    """The conditions are those that a browser sends."""
    first = lab.ask(_PHOTO)
    if first.header("ETag") is None:
        return "no etag"
    response = lab.ask(_PHOTO, headers=_conditions(first))
    if response.status != 304:
        return "no 304"
    return "without it" if response.header("ETag") is None else "with it"


def _conditions(response: Response) -> dict[str, str]:
    """The headers with which a browser revalidates a cached response."""
    etag, date = response.header("ETag"), response.header("Last-Modified")
    conditions = {"If-None-Match": etag} if etag else {}
    return conditions | ({"If-Modified-Since": date} if date else {})


def _changed(name: str, content: bytes, modified: float, lab: Lab) -> str:
    """The response to a revalidation after the file's content has changed."""
    file = lab.controlled.files / name
    file.write_bytes(b"old")
    os.utime(file, (MODIFIED, MODIFIED))
    first = lab.ask(f"/files/{name}")
    file.write_bytes(content)
    os.utime(file, (modified, modified))
    again = lab.ask(f"/files/{name}", headers=_conditions(first))
    if again.status == 304:
        return "304"
    return "new bytes" if again.body == content else "old bytes"


asks("changed-file", "files", control=True)(
    partial(_changed, "changing.txt", b"new, and longer", MODIFIED + 100)
)
asks("changed-within-second", "files", control=True)(
    partial(_changed, "overwritten.txt", b"new", MODIFIED + 0.2)
)


@asks("date-fraction", "files", control=True)
def date_fraction(lab: Lab) -> str:
    """One file was modified a quarter of a second after a full second, the other three quarters."""
    after: list[float] = []
    for name in ("photo.jpg", "later.txt"):
        date = lab.ask(f"/files/{name}").header("Last-Modified")
        if date is None:
            return "no date"
        after.append(parsedate_to_datetime(date).timestamp() - floor(MODIFIED))
    rounded = {"0 0": "rounded down", "1 1": "rounded up", "0 1": "rounded to the nearest"}
    return rounded.get("{:g} {:g}".format(*after), "another date")


# Ranges


def _status(headers: Mapping[str, str], lab: Lab) -> str:
    """The status, for questions that it answers."""
    return _or_failed(lab.outcome(_PHOTO, **headers))


def _or_failed(outcome: str) -> str:
    return "failed" if outcome.startswith("5") else outcome


for _id, _headers in {
    "if-none-match-any": {"If_None_Match": "*"},
    "malformed-range": {"Range": "bytes=abc"},
    "reversed-range": {"Range": "bytes=5-2"},
    "unknown-range-unit": {"Range": "lines=0-5"},
    "if-range-other-etag": {"Range": "bytes=0-9", "If_Range": '"other"'},
    "if-range-other-date": {"Range": "bytes=0-9", "If_Range": formatdate(0, usegmt=True)},
}.items():
    asks(_id, "files")(partial(_status, _headers))


def _part(value: str, first: int, lab: Lab, **condition: str) -> str:
    """The status; ``wrong part`` for a 206 that does not hold the bytes from ``first`` on."""
    response = lab.ask(_PHOTO, headers={"Range": value} | condition)
    if response.status == 206 and not _is_part(response, first):
        return "wrong part"
    return _or_failed(str(response.status))


def _is_part(response: Response, first: int) -> bool:
    last = first + len(response.body) - 1
    announced = response.header("Content-Range") == f"bytes {first}-{last}/{_SIZE}"
    return announced and response.body == _CONTENT[first : last + 1] != b""


for _id, _range, _first in (
    ("range", "bytes=20-29", 20),
    ("range-suffix", "bytes=-10", _SIZE - 10),
    ("range-suffix-long", f"bytes=-{_SIZE * 2}", 0),
    ("range-past-end", f"bytes={_SIZE * 2}-", _SIZE * 2),
):
    asks(_id, "files")(partial(_part, _range, _first))


@asks("content-range-in-416", "files")
def content_range_in_416(lab: Lab) -> str:
    """The range starts past the end."""
    response = lab.ask(_PHOTO, headers={"Range": f"bytes={_SIZE * 2}-"})
    if response.status != 416:
        return "no 416"
    value = response.header("Content-Range")
    if value is None:
        return "without it"
    return "with the size" if value == f"bytes */{_SIZE}" else "malformed"


@asks("several-ranges", "files")
def several_ranges(lab: Lab) -> str:
    """Two ranges that are too far apart to be joined."""
    response = lab.ask(_PHOTO, headers={"Range": "bytes=0-9,2000-2009"})
    if response.status != 206:
        return "whole" if response.status == 200 else str(response.status)
    if media_types.parse(response.content_type or "")[0] == "multipart/byteranges":
        return "multipart" if _has_parts(response.body, 0, 2000) else "wrong part"
    if not _is_part(response, 0):
        return "wrong part"
    return {10: "first only", 2010: "joined"}.get(len(response.body), "wrong part")


def _has_parts(body: bytes, *firsts: int) -> bool:
    """Whether a multipart body holds the ten bytes from each of ``firsts`` on."""
    return all(
        b"bytes %d-%d/%d\r\n" % (first, first + 9, _SIZE) in body
        and b"\r\n\r\n%s\r\n--" % _CONTENT[first : first + 10] in body
        for first in firsts
    )


@asks("if-range", "files")
def if_range(lab: Lab) -> str:
    """With the ETag if it is strong, as RFC 9110 requires; else with the date."""
    first = lab.ask(_PHOTO)
    etag = first.header("ETag") or ""
    validator = etag if etag.startswith('"') else first.header("Last-Modified")
    if validator is None:
        return "no validator"
    return _part("bytes=20-29", 20, lab, **{"If-Range": validator})


# Types and other headers


def _type(name: str, known: tuple[str, ...], lab: Lab) -> str:
    value = lab.ask(f"/files/{name}").content_type
    if value is None:
        return "none"
    essence = media_types.parse(value)[0]
    return essence if essence in known else "another type"


_BYTES = "application/octet-stream"

for _id, _name, _known in (
    ("type-js", "script.js", ("text/javascript", "application/javascript", "text/plain", _BYTES)),
    ("type-webp", "rings.webp", ("image/webp", _BYTES)),
    ("type-without-extension", "MANIFESTO", (_BYTES, "text/plain", "text/html")),
):
    asks(_id, "files")(partial(_type, _name, _known))


@asks("text-charset", "files")
def text_charset(lab: Lab) -> str:
    """Of plain text, a style sheet and a page."""
    charsets = set()
    for name in ("notes.txt", "style.css", "page.html"):
        value = lab.ask(f"/files/{name}").content_type or ""
        charsets.add(media_types.parse(value)[1] or "none")
    if charsets - {"utf-8", "none"}:
        return "another"
    return charsets.pop() if len(charsets) == 1 else "some of them"


@asks("file-framing", "files")
def file_framing(lab: Lab) -> str:
    """How the end of its body is marked."""
    response = lab.ask(_PHOTO)
    if "chunked" in (response.header("Transfer-Encoding") or "").lower():
        return "chunked"
    return "until the end" if response.header("Content-Length") is None else "content-length"


@asks("content-disposition", "files")
def content_disposition(lab: Lab) -> str:
    """Its type, without the name."""
    return (lab.ask(_PHOTO).header("Content-Disposition") or "none").split(";")[0].strip().lower()


@asks("cache-control", "files")
def cache_control(lab: Lab) -> str:
    """How a cache treats the response."""
    value = (lab.ask(_PHOTO).header("Cache-Control") or "").lower()
    directives = [one.strip() for one in value.split(",")]
    if "no-store" in directives:
        return "never stored"
    ages = [int(age) for age in re.findall(r'max-?age="?(\d+)', value)]
    if "no-cache" in directives or (ages and not any(ages)):
        return "checked each time"
    return "kept for a while" if ages else "none"


def head(target: str, size: int, lab: Lab) -> str:
    """The response to HEAD; ``size`` is the length of GET's body."""
    response = lab.ask(target, "HEAD")
    if response.status != 200:
        return str(response.status)
    length = response.header("Content-Length")
    if length is None:
        return "no length"
    return "the length" if length == str(size) else "another length"


asks("file-head", "files")(partial(head, _PHOTO, _SIZE))


# Names


def _named(target: str, lab: Lab) -> str:
    return fate(lab.outcome(target))


for _id, _name, _control in (
    ("dotfile", ".hidden.txt", True),
    ("link-inside", "link.txt", True),
    ("link-outside", "leaving.txt", True),
    ("nested-file", "folder.txt/inside.txt", True),
    ("encoded-slash", "folder.txt%2finside.txt", True),
    ("backslash", "folder.txt%5cinside.txt", True),
    ("nul-in-name", "photo.jpg%00.txt", False),
    ("not-utf-8-name", "%ff.txt", False),
):
    asks(_id, "files", control=_control)(partial(_named, f"/files/{_name}"))


@asks("long-name", "files")
def long_name(lab: Lab) -> str:
    """A name of 5,000 letters."""
    outcome = lab.outcome("/files/" + "x" * 5000)
    return outcome if outcome == "414" else fate(outcome)


@asks("plus-in-name", "files")
def plus_in_name(lab: Lab) -> str:
    """The file is `two words.txt`, with a space in its name."""
    kind = fate(lab.outcome("/files/two+words.txt"))
    return {"not found": "a plus", "served": "a space"}.get(kind, kind)


def _folder(target: str, inside: bytes, lab: Lab) -> str:
    try:
        response = lab.ask(target)
    except (Closed, Garbled):
        return "closed"
    if response.status == 200 and inside in response.body:
        return "listed"
    return fate(str(response.status))


for _id, _target, _inside, _control in (
    ("folder", "/files/folder.txt", b"inside.txt", True),
    ("folder-slash", "/files/folder.txt/", b"inside.txt", True),
    ("files-root", "/files/", b"photo.jpg", False),
):
    asks(_id, "files", control=_control)(partial(_folder, _target, _inside))


# Big files

_HEAD = 16 << 10
"""More bytes than a response's head has."""
_QUIET = 1.5
"""Seconds of silence before the second request, if a body is incomplete."""


def ending(
    server: Subject, target: str, size: int, patience: float, fail: Callable[[], None] | None = None
) -> str:
    """How a body of ``size`` times ``x`` ends if its source fails, or ``fail`` makes it fail.

    After silence, a second request is sent on the same connection: a server that considers the
    first one done answers it in place of the rest of the body.
    """
    request = Request(target)
    with server.connect(patience) as connection:
        connection.send(request.encode("x"))
        try:
            if not connection.socket.recv(1, socket.MSG_PEEK):
                return "closed"
            if fail is not None:
                wait_until(lambda: _has_begun(connection), timeout=patience)
                fail()
            connection.socket.settimeout(_QUIET)
            response = connection.receive(request)
        except (Closed, Garbled, ConnectionResetError):
            return "closed"
        except TimeoutError:
            return "hangs"
        except Silence:
            pass
        else:
            if response.status != 200:
                return fate(str(response.status))
            if len(response.body) < size:
                return "looks complete"
            return "complete" if response.body == b"x" * size else "padded"
        with contextlib.suppress(OSError):
            connection.send(Request("/index", headers=(("Connection", "close"),)).encode("x"))
        if b"HTTP/1." in connection.read_raw(patience):
            return "goes on"
        return "closed" if connection.is_closed_within(_QUIET) else "hangs"


def _has_begun(connection: Connection) -> bool:
    """Whether more than the head has been received."""
    return len(connection.socket.recv(_HEAD, socket.MSG_PEEK)) == _HEAD


@asks("file-cut-short", "files", lane="alone", control=True)
def file_cut_short(lab: Lab) -> str:
    """The file is truncated from 32 MB to 1 MB after the response has begun."""
    file, size = lab.controlled.files / "cut.bin", 32 << 20
    file.write_bytes(b"x" * size)
    with lab.start() as server:
        return ending(
            server, "/files/cut.bin", size, lab.patience, lambda: os.truncate(file, 1 << 20)
        )


@asks_several("file-memory", "file-memory-ten", parts=("files",), lane="alone")
def _memory(lab: Lab) -> dict[str, str]:
    one, ten = memory.for_one_and_ten(lab, _PHOTO, "/files/big.bin")
    return {"file-memory": one, "file-memory-ten": ten}
