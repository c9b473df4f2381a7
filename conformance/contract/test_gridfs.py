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
from conformance.corpus import corpus
from conformance.expect import answer, right, same
from conformance.faults import catches
from conformance.needs import control, serves
from conformance.subject import Controlled, Subject, fresh_name
from spec import Expected

pytestmark = serves("gridfs")

PHOTO = "/gridfs/photo.jpg"
RUN = uuid.uuid4().hex
"""Marks this run's files among those of others in the same database."""


@pytest.fixture(scope="module")
def bucket(controlled: Controlled) -> Iterator[gridfs.GridFSBucket]:
    """The bucket; files of this run, and of old runs that crashed, are deleted afterwards."""
    with pymongo.MongoClient[Any](controlled.services.mongodb_url) as client:
        bucket = gridfs.GridFSBucket(client.get_default_database())
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
