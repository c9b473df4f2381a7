"""What checks and questions store in MongoDB, beside the server and without its proxy."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pymongo
from bson import ObjectId
from gridfs import DEFAULT_CHUNK_SIZE, GridFSBucket
from pymongo.database import Database

import spec
from conformance.subject import Controlled

# Marks this run's files among those of others in the same database
_RUN = uuid.uuid4().hex


@contextmanager
def database(server: Controlled) -> Iterator[Database[Any]]:
    """The server's database."""
    with pymongo.MongoClient[Any](server.services.mongodb_url) as client:
        yield client.get_default_database()


@contextmanager
def files(server: Controlled) -> Iterator[Database[Any]]:
    """The same; files of this run, and of old runs that crashed, are deleted at the end."""
    with database(server) as found:
        try:
            yield found
        finally:
            bucket = GridFSBucket(found)
            abandoned = {"metadata.run": {"$exists": True}, "uploadDate": {"$lt": long_ago()}}
            for file in list(bucket.find({"$or": [{"metadata.run": _RUN}, abandoned]})):
                bucket.delete(file._id)


def store(
    database: Database[Any], name: str, content: bytes, chunk: int = DEFAULT_CHUNK_SIZE
) -> ObjectId:
    """Store a file in chunks of that size; return its id."""
    metadata = {"contentType": spec.content_type(name), "run": _RUN}
    bucket = GridFSBucket(database, chunk_size_bytes=chunk)
    return bucket.upload_from_stream(name, content, metadata=metadata)


def long_ago() -> datetime:
    """A time before the begin of every run that still goes on."""
    return datetime.now(UTC) - timedelta(hours=2)
