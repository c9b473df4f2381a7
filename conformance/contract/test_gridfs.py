"""/gridfs: the newest revision, whole, from the database."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import gridfs
import pymongo
import pytest

import spec
from conformance.caching import reads_each_time
from conformance.contract.test_parameters import check
from conformance.corpus import Exchange, corpus
from conformance.expect import answer, holds, same
from conformance.faults import catches
from conformance.http import Response
from conformance.memory import serves_within
from conformance.needs import control, serves
from conformance.subject import BIG, Controlled, Subject

pytestmark = serves("gridfs")

PHOTO = "/gridfs/photo.jpg"
RUN = uuid.uuid4().hex
"""Tells this run's files from those of others that use the same database."""
CONTENT = spec.files()["photo.jpg"]


@pytest.fixture(scope="module")
def bucket(controlled: Controlled) -> Iterator[gridfs.GridFSBucket]:
    """The bucket; what this run has stored in it, or one long ago, is deleted afterwards."""
    with pymongo.MongoClient[Any](controlled.services.mongodb_url) as client:
        bucket = gridfs.GridFSBucket(client.get_default_database())
        yield bucket
        long_ago = {"$lt": datetime.now(UTC) - timedelta(hours=2)}
        abandoned = {"metadata.run": {"$exists": True}, "uploadDate": long_ago}
        for file in list(bucket.find({"$or": [{"metadata.run": RUN}, abandoned]})):
            bucket.delete(file._id)


def _store(bucket: gridfs.GridFSBucket, name: str, content: bytes) -> None:
    metadata = {"contentType": spec.content_type(name), "run": RUN}
    bucket.upload_from_stream(name, content, metadata=metadata)


@pytest.mark.parametrize(
    "exchange",
    [one for one in corpus(["gridfs"]) if one.answer.status in (200, 404)],
    ids=lambda exchange: exchange.name,
)
@catches("gridfs-type-guessed", "gridfs-oldest", "gridfs-200-for-missing", "gridfs-range")
@catches("gridfs-dotfile-500", "name-decoded-twice", "plus-is-space")
def test_names(subject: Subject, exchange: Exchange) -> None:
    check(subject, exchange)


@catches("gridfs-without-etag", "gridfs-last-modified", "gridfs-chunked")
def test_headers(subject: Subject) -> None:
    response = subject.ask(PHOTO)
    answer(response, "image/jpeg", CONTENT)
    holds("ETag", "an entity tag", bool(response.header("ETag")), None, response)
    same("Last-Modified", None, response.header("Last-Modified"), response)


@catches("gridfs-etag-changes", "gridfs-if-none-match-ignored", "gridfs-304-without-etag")
@catches("gridfs-if-none-match-one")
def test_if_none_match(subject: Subject) -> None:
    etag = _etag(subject.ask(PHOTO))
    opaque = etag.removeprefix("W/")
    for value in (etag, f"W/{opaque}", f'"other", {etag}', "*"):
        for method in ("GET", "HEAD"):
            response = subject.ask(PHOTO, method, {"If-None-Match": value})
            same(f"status with If-None-Match: {value}", 304, response.status, response)
            same("body", b"", response.body, response)
            same("ETag", etag, response.header("ETag"), response)
    for value in ('"other"', 'W/"other", "another"'):
        response = subject.ask(PHOTO, headers={"If-None-Match": value})
        answer(response, "image/jpeg", CONTENT)


@control
@catches("gridfs-oldest", "gridfs-cached", "gridfs-etag-of-name")
def test_a_new_revision(controlled: Controlled, bucket: gridfs.GridFSBucket) -> None:
    name = f"revised-{uuid.uuid4().hex}.css"
    _store(bucket, name, b"/* first */")
    first = controlled.ask(f"/gridfs/{name}")
    answer(first, "text/css; charset=utf-8", b"/* first */")
    _store(bucket, name, b"/* second */")
    second = controlled.ask(f"/gridfs/{name}", headers={"If-None-Match": _etag(first)})
    answer(second, "text/css; charset=utf-8", b"/* second */")
    holds("ETag", "another than before", _etag(first) != _etag(second), _etag(second), second)


@control
@catches("gridfs-truncated")
def test_a_file_of_several_chunks(controlled: Controlled, bucket: gridfs.GridFSBucket) -> None:
    name = f"chunks-{uuid.uuid4().hex}.bin"
    content = bytes(range(256)) * 4096 + b"end"
    _store(bucket, name, content)
    answer(controlled.ask(f"/gridfs/{name}"), "application/octet-stream", content)


@control
@catches("gridfs-cached")
def test_each_request_reads_the_database(controlled: Controlled) -> None:
    reads_each_time(controlled, PHOTO, controlled.mongodb, len(CONTENT))


@control
@catches("gridfs-in-memory")
def test_a_big_file_is_streamed(controlled: Controlled, bucket: gridfs.GridFSBucket) -> None:
    name = f"big-{uuid.uuid4().hex}.bin"
    _store(bucket, name, bytes(BIG))
    controlled.ask(PHOTO)
    serves_within(controlled, f"/gridfs/{name}", BIG)


def _etag(response: Response) -> str:
    return response.header("ETag") or ""
