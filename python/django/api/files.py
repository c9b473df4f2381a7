import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from gridfs import GridOut
from gridfs.asynchronous import AsyncGridOut

from api.responses import problem

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
RANGE = re.compile(r"bytes=(?:([0-9]{1,99})-([0-9]{0,99})|-([0-9]{1,99}))")
CHUNK = 65536

Chunks = Iterator[bytes] | AsyncIterator[bytes]


def open_file(name: str) -> BinaryIO:
    try:
        path = (settings.FILES_DIR / name).resolve()
        if not (path.is_relative_to(settings.FILES_DIR) and path.is_file()):
            raise Http404
        return path.open("rb")
    except OSError:
        raise Http404 from None


def file_response(
    request: HttpRequest, name: str, read: Callable[[BinaryIO, int], Chunks]
) -> HttpResponseBase:
    file = open_file(name)
    stat = os.fstat(file.fileno())
    size, modified = stat.st_size, int(stat.st_mtime)
    etag = f'"{stat.st_mtime_ns:x}-{size:x}"'
    headers = {
        "Content-Type": CONTENT_TYPES.get(Path(name).suffix, "application/octet-stream"),
        "Content-Length": str(size),
        "ETag": etag,
        "Last-Modified": http_date(modified),
        "Accept-Ranges": "bytes",
    }
    response = get_conditional_response(request, etag, modified, HttpResponse(headers=headers))
    if response.status_code != 200 or request.method == "HEAD":
        return response
    wanted = RANGE.fullmatch(request.headers.get("Range", ""))
    if not wanted or request.headers.get("If-Range", etag) != etag:
        return StreamingHttpResponse(read(file, size), headers=headers)
    first, last, suffix = wanted.groups()
    start = int(first) if first else max(size - int(suffix), 0)
    stop = min(int(last) + 1, size) if last else size
    if start >= stop:
        return problem(416, {"Content-Range": f"bytes */{size}"})
    file.seek(start)
    headers["Content-Length"] = str(stop - start)
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    return StreamingHttpResponse(read(file, stop - start), status=206, headers=headers)


def gridfs_response(
    request: HttpRequest, stored: GridOut | AsyncGridOut, chunks: Chunks
) -> HttpResponseBase:
    etag = f'"{stored._id}"'
    headers = {
        "Content-Type": stored.metadata["contentType"],
        "Content-Length": str(stored.length),
        "ETag": etag,
    }
    response = get_conditional_response(request, etag, response=HttpResponse(headers=headers))
    if response.status_code != 200 or request.method == "HEAD":
        return response
    return StreamingHttpResponse(chunks, headers=headers)
