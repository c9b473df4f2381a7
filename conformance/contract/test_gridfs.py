"""/gridfs: the newest revision, whole, from the database; or an error, or a cut connection."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import gridfs
import pymongo
import pytest
from pymongo.database import Database

import spec
from conformance.caching import reads_each_time
from conformance.corpus import corpus
from conformance.expect import answer, right, same
from conformance.faults import catches
from conformance.http import Request
from conformance.needs import control, serves
from conformance.subject import Controlled, Subject, fresh_name
from harness.processes import wait_until
from spec import Expected

pytestmark = serves("gridfs")

PHOTO = "/gridfs/photo.jpg"
RUN = uuid.uuid4().hex
"""Marks this run's files among those of others in the same database."""


@pytest.fixture(scope="module")
def database(controlled: Controlled) -> Iterator[Database[Any]]:
    """The server's database, without a proxy."""
    with pymongo.MongoClient[Any](controlled.services.mongodb_url) as client:
        yield client.get_default_database()


@pytest.fixture(scope="module")
def bucket(database: Database[Any]) -> Iterator[gridfs.GridFSBucket]:
    """The bucket; files of this run, and of old runs that crashed, are deleted afterwards."""
    bucket = gridfs.GridFSBucket(database)
    yield bucket
    long_ago = {"$lt": datetime.now(UTC) - timedelta(hours=2)}
    abandoned = {"metadata.run": {"$exists": True}, "uploadDate": long_ago}
    for file in list(bucket.find({"$or": [{"metadata.run": RUN}, abandoned]})):
        bucket.delete(file._id)


def _store(bucket: gridfs.GridFSBucket, name: str, content: bytes) -> Expected:
    media_type = spec.content_type(name)
    metadata = {"contentType": media_type, "run": RUN}
    bucket.upload_from_stream(name, content, metadata=metadata)
    return Expected(200, media_type, content)


CHUNK = 16 << 10
CONTENT = bytes(range(1, 251)) * 256
"""64,000 bytes: four chunks."""


def _without(
    database: Database[Any], bucket: gridfs.GridFSBucket, number: int, content: bytes = CONTENT
) -> str:
    """The target of a file without one of its chunks."""
    name = fresh_name("bin")
    metadata = {"contentType": "application/octet-stream", "run": RUN}
    id = bucket.upload_from_stream(name, content, chunk_size_bytes=CHUNK, metadata=metadata)
    database["fs.chunks"].delete_one({"files_id": id, "n": number})
    return f"/gridfs/{name}"


SERVED = [one.target for one in corpus(["gridfs"]) if one.expected.status == 200]
MISSING = [one.target for one in corpus(["gridfs"]) if one.expected.status == 404]


@pytest.mark.parametrize("target", SERVED)
@catches("gridfs-type-guessed", "gridfs-oldest", "name-decoded-twice", "gridfs-chunked")
def test_file(subject: Subject, target: str) -> None:
    response = subject.ask(target)
    right(response)
    same("Content-Length", str(len(response.body)), response.header("Content-Length"), response)


@pytest.mark.parametrize("target", MISSING)
@catches("gridfs-200-for-missing", "missing-revision-500")
def test_missing_file(subject: Subject, target: str) -> None:
    right(subject.ask(target))


@control
@catches("gridfs-oldest", "gridfs-cached")
def test_a_new_revision(controlled: Controlled, bucket: gridfs.GridFSBucket) -> None:
    name = fresh_name("css")
    for content in (b"/* first */", b"/* second */"):
        stored = _store(bucket, name, content)
        answer(controlled.ask(f"/gridfs/{name}"), stored)


@control
@catches("gridfs-truncated")
def test_a_file_of_several_chunks(controlled: Controlled, bucket: gridfs.GridFSBucket) -> None:
    name = fresh_name("bin")
    stored = _store(bucket, name, bytes(range(256)) * 4096 + b"end")
    answer(controlled.ask(f"/gridfs/{name}"), stored)


@control
@catches("gridfs-cached")
def test_each_request_reads_the_database(controlled: Controlled) -> None:
    least = len(spec.files()["photo.jpg"])
    reads_each_time(controlled, PHOTO, controlled.mongodb, least)


@control
@catches("gridfs-no-metadata-500")
def test_a_file_without_metadata(controlled: Controlled, database: Database[Any]) -> None:
    name = fresh_name("png")
    id = gridfs.GridFSBucket(database).upload_from_stream(name, b"stored")
    try:
        expected = Expected(200, "application/octet-stream", b"stored")
        answer(controlled.ask(f"/gridfs/{name}"), expected)
    finally:
        gridfs.GridFSBucket(database).delete(id)


@control
@pytest.mark.parametrize("number", [0, 2], ids=["first", "third"])
@catches("problem-after-head", "trace-after-head", "hangs-after-head", "gridfs-cut-looks-complete")
def test_a_chunk_is_missing(
    controlled: Controlled, database: Database[Any], bucket: gridfs.GridFSBucket, number: int
) -> None:
    """The connection ends within the body; or, without a byte of it, the answer is a 500."""
    target = _without(database, bucket, number)
    _is_cut_or_fails(_raw(controlled, target), CONTENT[: number * CHUNK], target)


@control
@catches("problem-after-head")
def test_mongodb_leaves_during_a_download(
    controlled: Controlled, bucket: gridfs.GridFSBucket
) -> None:
    """A client that has read the beginning gets the rest, or a cut connection."""
    name, content = fresh_name("bin"), CONTENT * 300
    _store(bucket, name, content)
    with controlled.connect(timeout=20) as connection:
        connection.send(Request(f"/gridfs/{name}").encode("x"))
        raw = connection.socket.recv(1 << 16)
        controlled.mongodb.set("refusing")
        try:
            raw += connection.read_raw(15)
        finally:
            controlled.mongodb.set("open")
    wait_until(lambda: controlled.ask(PHOTO).status == 200, timeout=10)
    body = raw.partition(b"\r\n\r\n")[2]
    assert content.startswith(body), f"{_differs(content, body)!r} is no part of the file"


def _differs(content: bytes, body: bytes) -> bytes:
    at = next((i for i, (a, b) in enumerate(zip(content, body, strict=False)) if a != b), 0)
    return body[at or len(content) :][:200]


def _raw(controlled: Controlled, target: str) -> bytes:
    """All that a connection receives; but for a 500, the server has to close it within 10 s."""
    with controlled.connect() as connection:
        connection.send(Request(target).encode("x"))
        raw = connection.read_some()
        if b"500" in raw.partition(b"\r\n")[0]:
            return raw + connection.read_raw(0.5)  # the body may come apart from the head
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
