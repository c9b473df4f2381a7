"""The group `gridfs`: how a server sends files from the database."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pymongo
from gridfs import GridFSBucket

from conformance import memory
from conformance.behaviours.lab import Lab, asks
from conformance.subject import BIG

_PHOTO = "/gridfs/photo.jpg"
_STORED = {"contentType": "application/octet-stream"}


@contextmanager
def _stored(lab: Lab, content: bytes) -> Iterator[str]:
    """Store a file for the length of the block; yields its path.

    Files that a killed run left behind are removed.
    """
    with pymongo.MongoClient[Any](lab.controlled.services.mongodb_url) as client:
        database = client.get_default_database()
        bucket = GridFSBucket(database)
        long_ago = datetime.now(UTC) - timedelta(hours=2)
        abandoned = {"filename": {"$regex": "^asked-"}, "uploadDate": {"$lt": long_ago}}
        for old in list(bucket.find(abandoned)):
            bucket.delete(old._id)
        name = f"asked-{uuid.uuid4().hex}.bin"
        id = bucket.upload_from_stream(name, content, metadata=_STORED)
        try:
            yield f"/gridfs/{name}"
        finally:
            bucket.delete(id)


@asks("gridfs-memory-ten", "gridfs", lane="alone")
def gridfs_memory(lab: Lab) -> str:
    """Ten clients of a file of 100 MB."""
    with _stored(lab, bytes(BIG)) as target:
        return memory.for_ten(lab, _PHOTO, target)
