import errno
import logging
import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from stat import S_ISREG
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from gridfs.errors import NoFile
from pymongo.collection import Collection
from pymongo.errors import PyMongoError

from app.db import in_turn
from app.responses import Problem, Unavailable
from app.semaphore import FairSemaphore

logger = logging.getLogger(__name__)

CONTENT_TYPES = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}
PIECE = 64 * 1024
RANGE = re.compile(r"bytes=([0-9]{0,99})-([0-9]{0,99})", re.IGNORECASE)
TAG = re.compile(r'"[^"]*"')


def file(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    folder = environ["app.files_dir"]
    path = folder / file_name(environ)
    try:
        stat = path.stat()
    except OSError:
        raise Problem(404) from None
    leaves = path.is_symlink() and not path.resolve().is_relative_to(folder)
    if leaves or not S_ISREG(stat.st_mode):
        raise Problem(404)

    etag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
    modified = formatdate(int(stat.st_mtime), usegmt=True)
    headers = [("ETag", etag), ("Last-Modified", modified), ("Accept-Ranges", "bytes")]
    if is_known(environ, etag, int(stat.st_mtime)):
        start_response("304 Not Modified", headers)
        return []

    part = None
    if environ.get("HTTP_IF_RANGE", etag) in (etag, modified):
        part = byte_range(environ.get("HTTP_RANGE", ""), stat.st_size)
    status = "200 OK"
    if part is None:
        part = range(stat.st_size)
    elif part:
        status = "206 Partial Content"
        headers.append(("Content-Range", f"bytes {part[0]}-{part[-1]}/{stat.st_size}"))
    else:
        raise Problem(416, ("Content-Range", f"bytes */{stat.st_size}"))
    content_type = CONTENT_TYPES.get(path.suffix, "application/octet-stream")
    headers += [("Content-Type", content_type), ("Content-Length", str(len(part)))]
    start_response(status, headers)
    return whole(read(path, part), len(part))


def gridfs(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    turns, find = environ["app.turns"], environ["app.gridfs"].open_download_stream_by_name
    try:
        stored = in_turn(turns, find, file_name(environ))
    except NoFile:
        raise Problem(404) from None
    except PyMongoError as error:
        logger.error("MongoDB: %r", error)
        raise Unavailable from error
    headers = [("ETag", f'"{stored._id}"')]
    if is_known(environ, f'"{stored._id}"'):
        start_response("304 Not Modified", headers)
        return []
    content_type = stored.metadata["contentType"]
    headers += [("Content-Type", content_type), ("Content-Length", str(stored.length))]
    start_response("200 OK", headers)
    return whole(download(turns, environ["app.chunks"], stored._id), stored.length)


def file_name(environ: WSGIEnvironment) -> str:
    try:
        # https://peps.python.org/pep-3333/#unicode-issues
        name = environ["PATH_INFO"].rpartition("/")[2].encode("latin-1").decode()
    except UnicodeDecodeError:
        raise Problem(404) from None
    if not name or name.startswith(".") or "\\" in name or "\0" in name:
        raise Problem(404)
    return name


def is_known(environ: WSGIEnvironment, etag: str, modified: int | None = None) -> bool:
    """Whether the client has it already (RFC 9110, section 13.2.2)."""
    if (tags := environ.get("HTTP_IF_NONE_MATCH")) is not None:
        return tags.strip() == "*" or etag in TAG.findall(tags)
    if modified is None or "HTTP_IF_MODIFIED_SINCE" not in environ:
        return False
    try:
        since = parsedate_to_datetime(environ["HTTP_IF_MODIFIED_SINCE"])
    except ValueError:
        return False
    return modified <= since.replace(tzinfo=UTC).timestamp()


def byte_range(header: str, size: int) -> range | None:
    """The bytes of the one range asked for, empty if there are none; nothing for the whole."""
    match = RANGE.fullmatch(header)
    if match is None:
        return None
    first, last = match.groups()
    if first and last and int(last) < int(first):
        return None
    if first:
        return range(int(first), min(int(last) + 1, size) if last else size)
    return range(max(size - int(last), 0), size) if last else None


def read(path: Path, part: range) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as file:
        file.seek(part.start)
        left = len(part)
        while left and (piece := file.read(min(left, PIECE))):
            left -= len(piece)
            yield piece


def download(
    turns: FairSemaphore, collection: Collection[dict[str, Any]], file_id: Any
) -> Iterator[bytes]:
    # GridOut reads 16 MB at a time; https://github.com/mongodb/specifications has the collection
    with collection.find({"files_id": file_id}, sort=[("n", 1)], batch_size=2) as chunks:
        while batch := in_turn(turns, chunks.to_list, 2):
            for chunk in batch:
                yield chunk["data"]


def whole(pieces: Iterable[bytes], length: int) -> Iterator[bytes]:
    """The pieces; should bytes be missing, the connection is cut, so that the client notices."""
    try:
        for piece in pieces:
            length -= len(piece)
            yield piece
        if length:
            raise EOFError(f"{length} bytes are missing")
    except (EOFError, OSError, PyMongoError) as error:
        logger.error("a response was cut: %r", error)
        raise ConnectionResetError(errno.ECONNRESET, "a response was cut") from error
