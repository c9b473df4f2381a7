"""The group `gridfs`: how a server sends files from the database."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import quote

import pymongo
from gridfs import GridFSBucket

import spec
from conformance import memory
from conformance.behaviours.files import ending, fate, head, if_none_match, validators
from conformance.behaviours.lab import Lab, asks, asks_several
from conformance.subject import BIG, Controlled
from harness.processes import wait_until
from spec import media_types

_PHOTO = "/gridfs/photo.jpg"
_CONTENT = spec.files()["photo.jpg"]
_CHUNK = 255 * 1024

_BYTES = "application/octet-stream"
_STORED = {"contentType": _BYTES}

asks("gridfs-validators", "gridfs")(partial(validators, _PHOTO))
asks("gridfs-if-none-match", "gridfs")(partial(if_none_match, _PHOTO, "{etag}"))
asks("gridfs-head", "gridfs")(partial(head, _PHOTO, len(_CONTENT)))


@asks("gridfs-range", "gridfs")
def gridfs_range(lab: Lab) -> str:
    """Ten bytes from the middle."""
    response = lab.ask(_PHOTO, headers={"Range": "bytes=20-29"})
    if response.status != 206:
        return str(response.status)
    announced = response.header("Content-Range") == f"bytes 20-29/{len(_CONTENT)}"
    return "206" if announced and response.body == _CONTENT[20:30] else "wrong part"


# Files that the questions store


@contextmanager
def _stored(
    lab: Lab,
    form: str,
    content: bytes,
    metadata: dict[str, str] | None = _STORED,
    missing: int | None = None,
) -> Iterator[str]:
    """Store a file for the length of the block, without the chunk ``missing``; yields its path.

    Files that a killed run left behind are removed.
    """
    with pymongo.MongoClient[Any](lab.controlled.services.mongodb_url) as client:
        database = client.get_default_database()
        bucket = GridFSBucket(database)
        long_ago = datetime.now(UTC) - timedelta(hours=2)
        abandoned = {"filename": {"$regex": r"^\.?asked-"}, "uploadDate": {"$lt": long_ago}}
        for old in list(bucket.find(abandoned)):
            bucket.delete(old._id)
        name = form.format(f"asked-{uuid.uuid4().hex}")
        id = bucket.upload_from_stream(name, content, metadata=metadata, chunk_size_bytes=_CHUNK)
        try:
            if missing is not None:
                database["fs.chunks"].delete_one({"files_id": id, "n": missing})
            yield f"/gridfs/{quote(name, safe='')}"
        finally:
            bucket.delete(id)


@asks_several("gridfs-memory", "gridfs-memory-ten", parts=("gridfs",), lane="alone")
def _memory(lab: Lab) -> dict[str, str]:
    with _stored(lab, "{}.bin", bytes(BIG)) as target:
        one, ten = memory.for_one_and_ten(lab, _PHOTO, target)
    return {"gridfs-memory": one, "gridfs-memory-ten": ten}


@asks_several("gridfs-missing-chunk", "gridfs-missing-end", parts=("gridfs",), lane="alone")
def _missing(lab: Lab) -> dict[str, str]:
    """How the response ends if a file's third or its last chunk of four is missing."""
    with ExitStack() as held:
        server = held.enter_context(lab.start())
        in_the_middle = _ends_without(2, server, lab)
        if in_the_middle == _DIES:
            server = held.enter_context(lab.start())
        return {
            "gridfs-missing-chunk": in_the_middle,
            "gridfs-missing-end": _ends_without(3, server, lab),
        }


_DIES = "dies"


def _ends_without(chunk: int, server: Controlled, lab: Lab) -> str:
    size = 3 * _CHUNK + 1000
    with _stored(lab, "{}.bin", b"x" * size, missing=chunk) as target:
        before = server.pids()
        ended = ending(server, target, size, lab.patience)
        died = wait_until(lambda: not before <= server.pids(), timeout=1)
        return _DIES if died else ended


def _named(form: str, lab: Lab) -> str:
    with _stored(lab, form, b"stored") as target:
        return fate(lab.outcome(target))


asks("gridfs-dot-name", "gridfs", control=True)(partial(_named, ".{}.txt"))
asks("gridfs-encoded-slash", "gridfs", control=True)(partial(_named, "{}/inside.txt"))


@asks("gridfs-no-metadata", "gridfs", control=True)
def gridfs_no_metadata(lab: Lab) -> str:
    """The name ends in `.png`."""
    with _stored(lab, "{}.png", b"stored", metadata=None) as target:
        response = lab.ask(target)
    if response.status != 200:
        return fate(str(response.status))
    if response.content_type is None:
        return "none"
    essence = media_types.parse(response.content_type)[0]
    known = {_BYTES: _BYTES, "text/html": "text/html", "image/png": "by the name"}
    return known.get(essence, "another type")
