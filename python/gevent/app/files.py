import errno
import logging
import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime
from functools import partial
from pathlib import Path
from stat import S_ISREG
from wsgiref.types import StartResponse, WSGIEnvironment

from gridfs.errors import NoFile
from pymongo.errors import PyMongoError

from app.responses import Problem, Unavailable

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
RANGE = re.compile(r"bytes=(?:([0-9]{1,99})-([0-9]{0,99})|-([0-9]{1,99}))", re.IGNORECASE)


def file_name(environ: WSGIEnvironment) -> str:
    try:
        # https://peps.python.org/pep-3333/#unicode-issues
        name = environ["PATH_INFO"].rpartition("/")[2].encode("latin-1").decode()
    except UnicodeDecodeError:
        raise Problem(404) from None
    if not name or name.startswith(".") or "\\" in name or "\0" in name:
        raise Problem(404)
    return name


def file(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    path = environ["app.files_dir"] / file_name(environ)
    try:
        if path.is_symlink() and not path.resolve().is_relative_to(environ["app.files_dir"]):
            raise Problem(404)
        stat = path.stat()
    except OSError:
        raise Problem(404) from None
    if not S_ISREG(stat.st_mode):
        raise Problem(404)
    etag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
    modified = formatdate(stat.st_mtime, usegmt=True)
    headers = [("ETag", etag), ("Last-Modified", modified), ("Accept-Ranges", "bytes")]
    if is_current(environ, etag, int(stat.st_mtime)):
        start_response("304 Not Modified", headers)
        return []
    headers.append(
        ("Content-Type", CONTENT_TYPES.get(path.suffix, "application/octet-stream"))
    )
    first, last, status = 0, stat.st_size - 1, "200 OK"
    if environ.get("HTTP_IF_RANGE", etag) in (etag, modified) and (wanted := RANGE....):
