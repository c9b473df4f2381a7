"""/notes: a valid note is stored once and comes back as it was; any other body is refused."""

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from bson import ObjectId
from pymongo.collection import Collection

import spec
from conformance import stored
from conformance.expect import answer, holds, problem, same
from conformance.http import Request, Response
from conformance.marks import catches, control, serves
from conformance.subject import Controlled, Subject
from harness.system.processes import wait_until
from spec import Expected

pytestmark = serves("notes")

MARK = "stored by the conformance suite "
RUN = MARK + uuid.uuid4().hex  # begins the titles of this run's notes

TEXTS = {
    "ascii": "Hello, World!",
    "empty": "",
    "unicode": "é e\u0301 ß Ω 漢字 \u202e\ufeff 🙂 👩‍👩‍👧",
    "escapes": '" \\ / \b\f\n\r\t \u2028 </script>',
    "longest": "é" * 10_000,
    "surrounding-spaces": "  two  ",
}


@pytest.fixture
def notes(controlled: Controlled) -> Iterator[Collection[Any]]:
    """The collection; notes of this run, and of old runs that crashed, are deleted afterwards."""
    with stored.database(controlled) as database:
        yield database.notes
        database.notes.delete_many(_with(RUN))
        old = ObjectId.from_datetime(stored.long_ago())
        database.notes.delete_many(_with(MARK) | {"_id": {"$lt": old}})


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
    path = is_stored(controlled.ask(post(note(mark, text))), mark, text, notes)
    expected = spec.json_body({"_id": path.removeprefix("/notes/"), "title": mark, "text": text})
    answer(controlled.ask(path), Expected(200, spec.JSON, expected))


@control
@catches("note-id-repeated")
def test_an_id_in_upper_case(controlled: Controlled, notes: Collection[Any]) -> None:
    """It finds the note with its own id, or nothing."""
    mark = new_mark()
    created = controlled.ask(post(note(mark, "")))
    path = is_stored(created, mark, "", notes)
    response = controlled.ask(f"/notes/{path.removeprefix('/notes/').upper()}")
    if response.status != 404:
        answer(response, Expected(200, spec.JSON, created.body))


def _in_segments(framing: str, body: bytes, host: str) -> list[bytes]:
    """The request for a note, in segments that are sent 150 ms apart."""
    request = post(body, chunked="chunk" in framing).encode(host)
    if "late" in framing:
        at = request.index(body)
        return [request[:at], request[at:]]
    if framing != "many chunks":
        return [request]
    head = request.partition(b"\r\n\r\n")[0]
    pieces = [body[at : at + 7] for at in range(0, len(body), 7)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return [head + b"\r\n\r\n" + chunks + b"0\r\n\r\n"]


@control
@pytest.mark.parametrize(
    "framing", ["length", "length, late", "chunked", "chunked, late", "many chunks"]
)
@catches("note-chunked-refused", "body-late-refused", "note-200")
def test_a_body_in_every_framing(
    controlled: Controlled, notes: Collection[Any], framing: str
) -> None:
    """Both ways: a deployment that declares to decode no chunks refuses them."""
    mark = new_mark()
    with controlled.connect() as connection:
        first, *rest = _in_segments(framing, note(mark, "é" * 60), connection.host)
        connection.send(first)
        for segment in rest:
            time.sleep(0.15)
            connection.send(segment)
        response = connection.receive(Request("/notes", "POST"))
    if controlled.deployment.chunked or "chunk" not in framing:
        is_stored(response, mark, "é" * 60, notes)
        return
    refused = 400 <= response.status < 500
    holds("status", "4xx, as chunked = false", refused, response.status, response)
    left = notes.count_documents(_with(mark))
    holds("MongoDB", "nothing of a refused note", left == 0, f"{left} notes", response)


@control
@catches("note-large-refused")
def test_the_longest_note_in_escapes(controlled: Controlled, notes: Collection[Any]) -> None:
    """Each character as ``\\uXXXX``: 60 kB."""
    mark, text = new_mark(), "\u00e9" * 10_000
    is_stored(controlled.ask(post(note(mark, text, ascii=True))), mark, text, notes)


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
    problem(subject.ask(post(body.replace(b"MARK", MARK.encode()))), 400, 422)


@control
@catches("note-unchecked", "note-refused-stored")
def test_nothing_is_stored_of_a_refused_note(
    controlled: Controlled, notes: Collection[Any]
) -> None:
    mark = new_mark()
    for body in REFUSED.values():
        response = controlled.ask(post(body.replace(b"MARK", mark.encode())))
    left = notes.count_documents(_with(mark))
    holds("MongoDB", "no refused note", left == 0, f"{left} notes", response)


@control
@catches("note-cached")
def test_a_note_is_read_at_each_request(controlled: Controlled, notes: Collection[Any]) -> None:
    mark = new_mark()
    path = is_stored(controlled.ask(post(note(mark, ""))), mark, "", notes)
    same("status", 200, controlled.ask(path).status, controlled.ask(path))
    notes.delete_one({"title": mark})
    problem(controlled.ask(path), 404)


@control
@catches("note-stored-late", "database-500")
def test_mongodb_is_away(controlled: Controlled, notes: Collection[Any]) -> None:
    """Nothing is stored of a note that got a 503, not even later."""
    mark = new_mark()
    with controlled.mongodb.in_state("refusing"):
        response = controlled.ask(post(note(mark, "")))
        problem(response, 503)
    wait_until(lambda: controlled.ask("/mongo").status == 200, timeout=10)
    time.sleep(0.5)  # for what a server may have kept to store later
    left = notes.count_documents(_with(mark))
    holds("MongoDB", "nothing of a note that got a 503", left == 0, f"{left} notes", response)
