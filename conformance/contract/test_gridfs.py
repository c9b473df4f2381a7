"""/gridfs: the newest revision, whole, from the database; or an error, or a cut connection."""

from collections.abc import Iterator
from typing import Any

import pytest
from gridfs import GridFSBucket
from pymongo.database import Database

import spec
from conformance import stored
from conformance.expect import answer, first_difference, same
from conformance.http import Request
from conformance.marks import catches, control, serves
from conformance.stored import store
from conformance.subject import Controlled, Subject, fresh_name
from harness.system.processes import wait_until
from spec import Expected

pytestmark = serves("gridfs")

PHOTO = "/gridfs/photo.jpg"

BYTES = "application/octet-stream"
CHUNK = 16 << 10
CONTENT = bytes(range(1, 251)) * 256  # 64,000 bytes: four chunks


@pytest.fixture(scope="module")
def database(controlled: Controlled) -> Iterator[Database[Any]]:
    with stored.files(controlled) as database:
        yield database


@catches("gridfs-chunked")
def test_the_length_is_sent(subject: Subject) -> None:
    response = subject.ask(PHOTO)
    same("Content-Length", str(len(response.body)), response.header("Content-Length"), response)


@control
@catches("gridfs-oldest", "gridfs-cached")
def test_a_new_revision(controlled: Controlled, database: Database[Any]) -> None:
    name = fresh_name("css")
    for content in (b"/* first */", b"/* second */"):
        store(database, name, content)
        answer(controlled.ask(f"/gridfs/{name}"), Expected(200, "text/css; charset=utf-8", content))


@control
@catches("gridfs-truncated")
def test_a_file_of_several_chunks(controlled: Controlled, database: Database[Any]) -> None:
    name, content = fresh_name("bin"), bytes(range(256)) * 4096 + b"end"
    store(database, name, content)
    answer(controlled.ask(f"/gridfs/{name}"), Expected(200, BYTES, content))


@control
@catches("gridfs-no-metadata-500")
def test_a_file_without_metadata(controlled: Controlled, database: Database[Any]) -> None:
    name = fresh_name("png")
    id = GridFSBucket(database).upload_from_stream(name, b"stored")
    try:
        answer(controlled.ask(f"/gridfs/{name}"), Expected(200, BYTES, b"stored"))
    finally:
        GridFSBucket(database).delete(id)


@control
@pytest.mark.parametrize("number", [0, 2], ids=["first", "third"])
@catches("problem-after-head", "trace-after-head", "hangs-after-head", "gridfs-cut-looks-complete")
def test_a_chunk_is_missing(controlled: Controlled, database: Database[Any], number: int) -> None:
    """The connection ends within the body; or, without a byte of it, the answer is a 500."""
    name = fresh_name("bin")
    id = store(database, name, CONTENT, CHUNK)
    database["fs.chunks"].delete_one({"files_id": id, "n": number})
    target = f"/gridfs/{name}"
    _is_cut_or_fails(_raw(controlled, target), CONTENT[: number * CHUNK], target)


@control
@catches("problem-after-head")
def test_mongodb_leaves_during_a_download(controlled: Controlled, database: Database[Any]) -> None:
    """A client that has read the beginning gets the rest, or a cut connection."""
    name, content = fresh_name("bin"), CONTENT * 300
    store(database, name, content)
    with controlled.connect(timeout=20) as connection:
        connection.send(Request(f"/gridfs/{name}").encode("x"))
        raw = connection.read_some()
        with controlled.mongodb.in_state("refusing"):
            raw += connection.read_raw(15)
    wait_until(lambda: controlled.ask(PHOTO).status == 200, timeout=10)
    body = raw.partition(b"\r\n\r\n")[2]
    assert content.startswith(body), f"{_differs(content, body)!r} is no part of the file"


def _differs(content: bytes, body: bytes) -> bytes:
    return body[first_difference(content, body) :][:200]


def _raw(controlled: Controlled, target: str) -> bytes:
    """All that a connection receives; unless it is a 500, the server closes it within 10 s."""
    with controlled.connect() as connection:
        connection.send(Request(target).encode("x"))
        raw = connection.read_some()
        if b"500" in raw.partition(b"\r\n")[0]:
            return raw + connection.read_raw(0.5)  # the body may come after the head
        raw += connection.read_raw(10)
        assert connection.is_closed_within(0.1), f"{target}: the connection stays open"
        return raw


def _is_cut_or_fails(raw: bytes, served: bytes, target: str) -> None:
    head, _, body = raw.partition(b"\r\n\r\n")
    status = head.partition(b"\r\n")[0]
    if b"500" in status and not served:
        assert body == spec.problem(500) or b'"status":500' in body, f"{target}: {body[:300]!r}"
        return
    assert b"Traceback" not in raw, f"{target}: the client gets a stack trace"
    assert served.startswith(body), f"{target}: {_differs(served, body)!r} is no part of the file"
    if head:
        length = f"content-length: {len(CONTENT)}".encode()
        assert length in head.lower(), f"{target}: a cut file looks complete: {head[:300]!r}"
