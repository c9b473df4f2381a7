"""The group `files`: how a stack serves the files of a folder, beyond content and type."""

import contextlib
import os
import re
import socket
import time
from collections.abc import Mapping
from email.utils import formatdate
from functools import partial

import spec
from conformance.behaviours.lab import LAST, Lab, asks, fate, worst
from conformance.http import Closed, Garbled, Request, Response, Silence
from conformance.subject import MODIFIED
from harness.system.processes import wait_until
from spec import media_types

_PHOTO = "/files/photo.jpg"
_CONTENT = spec.files()["photo.jpg"]
_SIZE = len(_CONTENT)


# Validators and conditions


@asks("file-validators", "files")
def validators(lab: Lab) -> str:
    """Which of the two validators a response has."""
    response = lab.ask(_PHOTO)
    names = {"etag": "ETag", "date": "Last-Modified"}
    found = [name for name, header in names.items() if response.header(header) is not None]
    return "both" if len(found) == 2 else found[0] if found else "none"


@asks("if-none-match", "files")
def if_none_match(lab: Lab) -> str:
    """The status of a request with the response's own ETag."""
    etag = lab.ask(_PHOTO).header("ETag")
    return "no etag" if etag is None else lab.outcome(_PHOTO, If_None_Match=etag)


@asks("two-conditions", "files")
def two_conditions(lab: Lab) -> str:
    """The tag does not match; the date is the file's, or now if the file has none."""
    response = lab.ask(_PHOTO)
    if response.header("ETag") is None:
        return "no etag"
    date = response.header("Last-Modified") or formatdate(time.time(), usegmt=True)
    return lab.outcome(_PHOTO, If_None_Match='"other"', If_Modified_Since=date)


def _conditions(response: Response) -> dict[str, str]:
    """The headers with which a browser revalidates a cached response."""
    etag, date = response.header("ETag"), response.header("Last-Modified")
    conditions = {"If_None_Match": etag} if etag else {}
    return conditions | ({"If_Modified_Since": date} if date else {})


def _changed(name: str, content: bytes, modified: float, lab: Lab) -> str:
    """The response to a revalidation after the file's content has changed."""
    file = lab.controlled.files / name
    file.write_bytes(b"old")
    os.utime(file, (MODIFIED, MODIFIED))
    first = lab.ask(f"/files/{name}")
    file.write_bytes(content)
    os.utime(file, (modified, modified))
    again = lab.ask(f"/files/{name}", **_conditions(first))
    if again.status == 304:
        return "304"
    return "new bytes" if again.body == content else "old bytes"


asks("changed-file", "files", control=True)(
    partial(_changed, "changing.txt", b"new, and longer", MODIFIED + 100)
)
asks("changed-within-second", "files", control=True)(
    partial(_changed, "overwritten.txt", b"new", MODIFIED + 0.2)
)


# Ranges


def _status(headers: Mapping[str, str], lab: Lab) -> str:
    """The status, for questions that it answers."""
    return _or_failed(lab.outcome(_PHOTO, **headers))


def _or_failed(outcome: str) -> str:
    return "failed" if outcome.startswith("5") else outcome


for _id, _headers in {
    "if-match": {"If_Match": '"other"'},
    "if-unmodified-since": {"If_Unmodified_Since": formatdate(0, usegmt=True)},
}.items():
    asks(_id, "files")(partial(_status, _headers))


@asks("unknown-range-unit", "files")
def unknown_range_unit(lab: Lab) -> str:
    """The status, and whether a part is all of the file."""
    response = lab.ask(_PHOTO, Range="lines=0-5")
    is_whole = response.status == 206 and _is_part(response, 0) and len(response.body) == _SIZE
    return "206, whole" if is_whole else _or_failed(str(response.status))


def _if_range(lab: Lab, validator: str) -> str:
    return lab.outcome(_PHOTO, Range="bytes=0-9", If_Range=validator)


@asks("if-range-other-etag", "files")
def if_range_other_etag(lab: Lab) -> str:
    """The status, if the server sends ETags."""
    return "no etag" if lab.ask(_PHOTO).header("ETag") is None else _if_range(lab, '"other"')


@asks("if-range-other-date", "files")
def if_range_other_date(lab: Lab) -> str:
    """The worse of two: a date is compared for equality, not for which is earlier."""
    dates = (formatdate(when, usegmt=True) for when in (0, MODIFIED + 86_400))
    return worst("if-range-other-date", (_if_range(lab, date) for date in dates))


def _part(value: str, first: int, lab: Lab) -> str:
    """The status; ``wrong part`` for a 206 that does not hold the bytes from ``first`` on."""
    response = lab.ask(_PHOTO, Range=value)
    if response.status == 206 and not _is_part(response, first):
        return "wrong part"
    return _or_failed(str(response.status))


def _is_part(response: Response, first: int) -> bool:
    last = first + len(response.body) - 1
    announced = response.header("Content-Range") == f"bytes {first}-{last}/{_SIZE}"
    return announced and response.body == _CONTENT[first : last + 1] != b""


for _id, _range, _first in (
    ("range", "bytes=20-29", 20),
    ("range-suffix-long", f"bytes=-{_SIZE * 2}", 0),
):
    asks(_id, "files")(partial(_part, _range, _first))


@asks("several-ranges", "files")
def several_ranges(lab: Lab) -> str:
    """Two ranges that are too far apart to be joined."""
    response = lab.ask(_PHOTO, Range="bytes=0-9,2000-2009")
    if response.status != 206:
        return "whole" if response.status == 200 else str(response.status)
    if media_types.parse(response.header("Content-Type") or "")[0] == "multipart/byteranges":
        return "multipart" if _has_parts(response.body, 0, 2000) else "wrong part"
    if not _is_part(response, 0):
        return "wrong part"
    return {10: "first only", 2010: "joined", _SIZE: "joined"}.get(len(response.body), "wrong part")


def _has_parts(body: bytes, *firsts: int) -> bool:
    """Whether a multipart body holds the ten bytes from each of ``firsts`` on."""
    return all(
        b"bytes %d-%d/%d\r\n" % (first, first + 9, _SIZE) in body
        and b"\r\n\r\n%s\r\n--" % _CONTENT[first : first + 10] in body
        for first in firsts
    )


# Types and other headers


def _type(name: str, known: tuple[str, ...], lab: Lab) -> str:
    value = lab.ask(f"/files/{name}").header("Content-Type")
    if value is None:
        return "none"
    essence = media_types.parse(value)[0]
    return essence if essence in known else "another type"


_BYTES = "application/octet-stream"

asks("type-webp", "files")(partial(_type, "rings.webp", ("image/webp", _BYTES)))


@asks("type-without-extension", "files", control=True)
def type_without_extension(lab: Lab) -> str:
    """The worse of those of a text and a page."""
    known = (_BYTES, "text/plain", "text/html")
    types = (_type(name, known, lab) for name in ("MANIFESTO", "page"))
    return worst("type-without-extension", types)


@asks("text-charset", "files")
def text_charset(lab: Lab) -> str:
    """Of plain text, a style sheet and a page."""
    charsets = set()
    for name in ("notes.txt", "style.css", "page.html"):
        value = lab.ask(f"/files/{name}").header("Content-Type") or ""
        charsets.add(media_types.parse(value)[1] or "none")
    if charsets - {"utf-8", "none"}:
        return "another"
    return charsets.pop() if len(charsets) == 1 else "some of them"


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


@asks("nosniff", "files")
def nosniff(lab: Lab) -> str:
    """Of a page."""
    value = lab.ask("/files/page.html").header("X-Content-Type-Options") or ""
    return "sent" if value.lower() == "nosniff" else "not sent"


# Names


def _named(target: str, lab: Lab) -> str:
    return fate(lab.outcome(target))


for _id, _name, _control in (
    ("dotfile", ".hidden.txt", True),
    ("link-outside", "leaving.txt", True),
    ("encoded-slash", "folder.txt%2finside.txt", True),
    ("nul-in-name", "photo.jpg%00.txt", False),
):
    asks(_id, "files", control=_control)(partial(_named, f"/files/{_name}"))


# Big files

_HEAD = 16 << 10  # more bytes than a response's head has
_QUIET = 1.5  # seconds of silence before the second request, if a body is incomplete


@asks("file-cut-short", "files", lane="alone")
def file_cut_short(lab: Lab) -> str:
    """The file is truncated from 32 MB to 1 MB after the response has begun.

    After silence, a second request is sent on the same connection: a server that considers the
    first one done answers it in place of the rest of the body.
    """
    file, size = lab.controlled.files / "cut.bin", 32 << 20
    file.write_bytes(b"x" * size)
    request = Request("/files/cut.bin")
    with lab.controlled.another() as server, server.connect(lab.patience) as connection:
        connection.send(request.encode("x"))
        try:
            if not connection.socket.recv(1, socket.MSG_PEEK):
                return "closed"
            peek = partial(connection.socket.recv, _HEAD, socket.MSG_PEEK)
            wait_until(lambda: len(peek()) == _HEAD, timeout=lab.patience)
            os.truncate(file, 1 << 20)
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
            connection.send(LAST.encode("x"))
        rest = connection.read_raw(lab.patience)
        assert not rest.startswith(b"x"), "the server has paused while it sent the file"
        if b"HTTP/1." in rest:
            return "goes on"
        return "closed" if connection.is_closed_within(_QUIET) else "hangs"
