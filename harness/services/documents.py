"""The fixtures in MongoDB: the collection of articles, and the files of GridFS.

Identifiers and dates are derived from the fixtures: stored documents can be compared byte by byte,
and two tasks that fill the same database write the same ones.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import bson
import gridfs
import pymongo
from bson import Binary, ObjectId
from bson.raw_bson import RawBSONDocument
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri

import spec
from harness.errors import UsageError
from harness.services.urls import require_url

Document = dict[str, Any]

_COLLECTIONS = ("articles", "notes", "fs.chunks", "fs.files", "fixtures")
_PATIENCE = 5_000  # milliseconds
_UPLOADED = datetime(2025, 1, 1, tzinfo=UTC)
_CHUNK = gridfs.DEFAULT_CHUNK_SIZE
# The document in ``fixtures`` that marks the other collections as this project's
_MARK = {"_id": "spec"}


@dataclass(frozen=True)
class _Part:
    """The fixtures of one collection."""

    collection: str
    filter: Document  # Selects the documents of the collection that must equal these
    documents: list[Document]
    index: list[tuple[str, int]] | None = None
    unique: bool = True


def fill(url: str) -> list[str]:
    """Restore the collections that differ from the fixtures; return their names."""
    with _database(url) as database:
        _require_ours(database)
        return [part.collection for part in _parts() if _restore(database, part)]


def names(url: str) -> list[str]:
    """The collections that :func:`clear` deletes."""
    return [f"{_database_name(url)}.{name}" for name in _COLLECTIONS]


def clear(url: str) -> None:
    """Drop the collections of the fixtures."""
    with _database(url) as database:
        for name in _COLLECTIONS:
            database.drop_collection(name)


@contextmanager
def _database(url: str) -> Iterator[Database[Document]]:
    name = _database_name(url)
    try:
        with pymongo.MongoClient[Document](url, serverSelectionTimeoutMS=_PATIENCE) as client:
            yield client[name]
    except PyMongoError as error:
        why = re.split(r" \(configured|, Timeout:", str(error))[0]  # without the driver's views
        raise UsageError(f"MONGODB_URL: cannot use the database: {why}") from error


def _database_name(url: str) -> str:
    require_url("MONGODB_URL", url, "mongodb", "mongodb+srv")
    try:
        name = parse_uri(url)["database"]
    except (PyMongoError, ValueError, OSError) as error:
        raise UsageError(f"MONGODB_URL is not a connection string: {error}") from error
    if not name:
        raise UsageError(
            "MONGODB_URL must name the database to fill, as mongodb://HOST/refservers does"
        )
    return str(name)


def _require_ours(database: Database[Document]) -> None:
    """Refuse a database that has other collections of the same names."""
    if database.fixtures.find_one(_MARK):
        return
    taken = [part.collection for part in _parts() if database[part.collection].find_one()]
    if taken:
        raise UsageError(
            f"MONGODB_URL: the database {database.name} has {', '.join(taken)} already, which are "
            "not the fixtures: name another database, or delete them with `./just reset --yes`"
        )
    database.fixtures.replace_one(_MARK, _MARK, upsert=True)


def _restore(database: Database[Document], part: _Part) -> bool:
    """Make a collection equal to the fixtures, byte by byte; return whether it differed."""
    collection = database[part.collection]
    raw = collection.with_options(bson.CodecOptions(document_class=RawBSONDocument))
    found = {document["_id"]: document.raw for document in raw.find(part.filter)}
    wanted = {document["_id"]: bson.encode(document) for document in part.documents}
    kept = [id for id, document in found.items() if wanted.get(id) == document]
    indexed = _is_indexed(collection, part)
    if len(kept) == len(found) == len(wanted) and indexed:
        return False
    collection.delete_many({"$and": [part.filter, {"_id": {"$nin": kept}}]})
    for document in part.documents:
        if document["_id"] not in kept:
            collection.replace_one({"_id": document["_id"]}, document, upsert=True)
    if part.index and not indexed:
        collection.create_index(part.index, unique=part.unique)
    return True


def _is_indexed(collection: Collection[Document], part: _Part) -> bool:
    """Whether the collection has the index; one with the same keys but other options is dropped."""
    if part.index is None:
        return True
    for index in list(collection.list_indexes()):
        if list(index["key"].items()) == part.index:
            if index.get("unique", False) == part.unique:
                return True
            collection.drop_index(index["name"])
    return False


def _parts() -> list[_Part]:
    articles = [one | {"_id": ObjectId(one["_id"])} for one in spec.articles()]
    notes = [one | {"_id": ObjectId(one["_id"])} for one in spec.notes()]
    files, chunks = _gridfs()
    names = sorted({file["filename"] for file in files})
    ids = [file["_id"] for file in files]
    return [
        _Part("articles", {}, articles, [("slug", 1)]),
        _Part("notes", {"_id": {"$in": [one["_id"] for one in notes]}}, notes),
        _Part("fs.chunks", {"files_id": {"$in": ids}}, chunks, [("files_id", 1), ("n", 1)]),
        _Part(
            *("fs.files", {"filename": {"$in": names}}, files),
            [("filename", 1), ("uploadDate", 1)],
            unique=False,
        ),
    ]


def _gridfs() -> tuple[list[Document], list[Document]]:
    """The documents of files and chunks (GridFS specification), newest last."""
    files, chunks = [], []
    for age, revisions in ((1, spec.revisions()), (0, spec.files())):
        for name, content in revisions.items():
            id = _id(name, age)
            files.append(
                {
                    "_id": id,
                    "length": len(content),
                    "chunkSize": _CHUNK,
                    "uploadDate": _UPLOADED - timedelta(days=age),
                    "filename": name,
                    "metadata": {"contentType": spec.content_type(name), "fixture": True},
                }
            )
            for n, start in enumerate(range(0, len(content), _CHUNK)):
                data = Binary(content[start : start + _CHUNK])
                chunks.append({"_id": _id(name, age, n), "files_id": id, "n": n, "data": data})
    return files, chunks


def _id(*of: object) -> ObjectId:
    return ObjectId(hashlib.sha256(repr(of).encode()).digest()[:12])
