"""/notes: a valid note is stored once and comes back as it was; any other body is refused."""

import json
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pymongo
import pytest
from bson import ObjectId
from pymongo.collection import Collection

import spec
from conformance.corpus import corpus
from conformance.expect import answer, holds, problem, right, same
from conformance.faults import catches
from conformance.http import Connection, Request, Response
from conformance.needs import control, serves
from conformance.subject import Controlled, Subject
from harness.processes import wait_until
from spec import Expected

pytestmark = serves("notes")

MARK = "stored by the conformance suite "
RUN = MARK + uuid.uuid4().hex
"""Begins the titles of this run's notes."""

TEXTS = {
    "ascii": "Hello, World!",
    "empty": "",
    "unicode": "é e\u0301 ß Ω 漢字 \u202e\ufeff 🙂 👩‍👩‍👧",
    "escapes": '" \\ / \b\f\n\r\t \u007f \u2028 </script>',
    "longest": "é" * 10_000,
    "surrounding-spaces": "  two  ",
}


@pytest.fixture
def notes(controlled: Controlled) -> Iterator[Collection[Any]]:
    """The collection; notes of this run, and of old runs that crashed, are deleted afterwards."""
    with pymongo.MongoClient[Any](controlled.services.mongodb_url) as client:
        collection = client.get_default_database().notes
        yield collection
        collection.delete_many(_with(RUN))
        old = ObjectId.from_datetime(datetime.now(UTC) - timedelta(hours=2))
        collection.delete_many(_with(MARK) | {"_id": {"$lt": old}})


def new_mark() -> str:
    """A title that no other note has."""
    return f"{RUN} {uuid.uuid4().hex}"


def _with(mark: str) -> dict[str, Any]:
    anywhere = {"$regex": mark}
    return {"$or": [{"title": anywhere}, {"text": anywhere}]}


def post(body: bytes, *, chunked: bool = False) -> Request:
    framing = (("Transfer-Encoding", "chunked"),) if chunked else ()
    return Request("/notes", "POST", (("Content-Type", "application/json"), *framing), body)


def note(title: str, text: str, *, ascii: bool = False) -> bytes:
    return json.dumps({"title": title, "text": text}, ensure_ascii=ascii).encode()


def is_stored(response: Response, title: str, text: str, notes: Collection[Any]) -> str:
    """Fail unless the response is that of a new note, which is stored once; return its path."""
    same("status", 201, response.status, response)
    found = [str(one["_id"]) for one in notes.find({"title": title})]
    holds("MongoDB", "one note with this title", len(found) == 1, f"{len(found)} notes", response)
    stored = {"_id": found[0], "title": title, "text": text}
    answer(response, Expected(201, spec.JSON, spec.json_body(stored)))
    same("Location", f"/notes/{found[0]}", response.header("Location"), response)
    return f"/notes/{found[0]}"


@control
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@catches("note-200", "note-without-location", "note-altered", "note-not-stored")
@catches("note-stored-twice", "json-escaped")
def test_a_stored_note(controlled: Controlled, notes: Collection[Any], text: str) -> None:
    mark = new_mark()
    with controlled.connect() as connection:
        path = is_stored(connection.request(post(note(mark, text))), mark, text, notes)
    expected = spec.json_body({"_id": path.removeprefix("/notes/"), "title": mark, "text": text})
    answer(controlled.ask(path), Expected(200, spec.JSON, expected))


def _whole(connection: Connection, body: bytes) -> Response:
    return connection.request(post(body))


def _late(connection: Connection, body: bytes) -> Response:
    """The body 150 ms after the head."""
    return _in_segments(connection, post(body), len(body))


def _chunked(connection: Connection, body: bytes) -> Response:
    return connection.request(post(body, chunked=True))


def _chunked_late(connection: Connection, body: bytes) -> Response:
    return _in_segments(connection, post(body, chunked=True), len(body) + len("0\r\n\r\n"))


def _chunks(connection: Connection, body: bytes) -> Response:
    """Many chunks, without extensions, which Tornado refuses (RFC 9112, section 7.1.1)."""
    request = post(b"", chunked=True)
    head = request.encode(connection.host).split(b"\r\n\r\n")[0]
    pieces = [body[at : at + 7] for at in range(0, len(body), 7)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    connection.send(head + b"\r\n\r\n" + chunks + b"0\r\n\r\n")
    return connection.receive(request)


def _in_segments(connection: Connection, request: Request, last: int) -> Response:
    data = request.encode(connection.host)
    connection.send(data[:-last])
    connection.is_closed_within(0.15)
    connection.send(data[-last:])
    return connection.receive(request)


@control
@pytest.mark.parametrize("frame", [_whole, _late, _chunked, _chunked_late, _chunks])
@catches("note-chunked-refused", "body-late-refused", "note-200")
def test_a_body_in_every_framing(
    controlled: Controlled, notes: Collection[Any], frame: Any
) -> None:
    mark = new_mark()
    with controlled.connect() as connection:
        is_stored(frame(connection, note(mark, "é" * 60)), mark, "é" * 60, notes)


@control
@catches("note-large-refused")
def test_the_longest_note_in_escapes(controlled: Controlled, notes: Collection[Any]) -> None:
    """Each character as ``\\uXXXX``: 60 kB."""
    mark, text = new_mark(), "\u00e9" * 10_000
    with controlled.connect() as connection:
        response = connection.request(post(note(mark, text, ascii=True)))
        is_stored(response, mark, text, notes)


REFUSED = {
    "nothing": b"",
    "not-json": b'{"title": "MARK", "text":',
    "an-array": b'[{"title": "MARK", "text": ""}]',
    "a-string": b'"MARK"',
    "null": b"null",
    "no-title": b'{"text": "MARK"}',
    "no-text": b'{"title": "MARK"}',
    "an-empty-title": b'{"title": "", "text": "MARK"}',
    "a-long-title": b'{"title": "%s", "text": "MARK"}' % (b"x" * 201),
    "a-long-text": b'{"title": "MARK", "text": "%s"}' % (b"x" * 10_001),
    "a-number-as-title": b'{"title": 5, "text": "MARK"}',
    "null-as-text": b'{"title": "MARK", "text": null}',
    "an-object-as-text": b'{"title": "MARK", "text": {"$gt": ""}}',
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
@catches("note-unchecked", "note-refused-500", "plain-400")
def test_a_body_that_is_no_note(subject: Subject, body: bytes) -> None:
    with subject.connect() as connection:
        problem(connection.request(post(body.replace(b"MARK", MARK.encode()))), 400, 422)


@control
@catches("note-unchecked", "note-refused-stored")
def test_nothing_is_stored_of_a_refused_note(
    controlled: Controlled, notes: Collection[Any]
) -> None:
    mark = new_mark()
    for body in REFUSED.values():
        with controlled.connect() as connection:
            response = connection.request(post(body.replace(b"MARK", mark.encode())))
    left = notes.count_documents(_with(mark))
    holds("MongoDB", "no refused note", left == 0, f"{left} notes", response)


@pytest.mark.parametrize("target", [one.target for one in corpus(["notes"])])
@catches("note-id-500", "note-invented", "json-escaped")
def test_a_note_by_its_id(subject: Subject, target: str) -> None:
    right(subject.ask(target))


@control
@catches("note-cached")
def test_a_note_is_read_at_each_request(controlled: Controlled, notes: Collection[Any]) -> None:
    mark = new_mark()
    with controlled.connect() as connection:
        path = is_stored(connection.request(post(note(mark, ""))), mark, "", notes)
    same("status", 200, controlled.ask(path).status, controlled.ask(path))
    notes.delete_one({"title": mark})
    problem(controlled.ask(path), 404)


@control
@catches("note-stored-late", "database-500")
def test_mongodb_is_away(controlled: Controlled, notes: Collection[Any]) -> None:
    """Nothing is stored of a note that got a 503, not even later."""
    mark = new_mark()
    request = post(note(mark, ""))
    controlled.mongodb.set("refusing")
    try:
        with controlled.connect() as connection:
            response = connection.request(request)
            problem(response, 503)
    finally:
        controlled.mongodb.set("open")
    wait_until(lambda: controlled.ask("/mongo").status == 200, timeout=10)
    time.sleep(0.5)  # for what a server may have kept to store later
    left = notes.count_documents(_with(mark))
    holds("MongoDB", "nothing of a note that got a 503", left == 0, f"{left} notes", response)
