import os
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from twisted.web.http import CACHED, PARTIAL_CONTENT

from app.db import MongoDB
from app.site import Problem, Request, SlowPage

CHUNK = 1 << 16
NAME = re.compile(r"[^./\\\0][^/\\\0]*")
RANGE = re.compile(rb"bytes=(\d{1,18})-(\d{0,18})|bytes=-(\d{1,18})")
CONTENT_TYPES = {
    ".jpg": b"image/jpeg",
    ".jpeg": b"image/jpeg",
    ".png": b"image/png",
    ".gif": b"image/gif",
    ".webp": b"image/webp",
    ".svg": b"image/svg+xml",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".txt": b"text/plain; charset=utf-8",
}


@dataclass(eq=False)
class Files(SlowPage):
    folder: Path
    segments = 1

    async def answer(self, request: Request) -> None:
        path = self.folder / file_name(request)
        leaves = path.is_symlink() and not path.resolve().is_relative_to(self.folder)
        if leaves or not path.is_file():
            raise Problem(404)
        with path.open("rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            etag = b'"%x-%x"' % (status.st_mtime_ns, status.st_size)
            content_type = CONTENT_TYPES.get(path.suffix, b"application/octet-stream")
            request.setHeader(b"Content-Type", content_type)
            request.setHeader(b"Accept-Ranges", b"bytes")
            if CACHED in (request.setETag(etag), request.setLastModified(int(status.st_mtime))):
                return request.finish()
            start, stop = asked_range(request, etag, status.st_size)
            file.seek(start)
            await request.stream(stop - start, read(file, stop - start))


@dataclass(eq=False)
class GridFS(SlowPage):
    mongodb: MongoDB
    segments = 1

    async def answer(self, request: Request) -> None:
        stored = await self.mongodb.find_file(file_name(request))
        if stored is None:
            raise Problem(404)
        request.setHeader(b"Content-Type", stored["metadata"]["contentType"].encode())
        if request.setETag(b'"%s"' % str(stored["_id"]).encode()) is CACHED:
            return request.finish()
        await request.stream(stored["length"], self.mongodb.read_file(stored["_id"]))


def file_name(request: Request) -> str:
    try:
        name = request.postpath[0].decode()
    except UnicodeDecodeError:
        raise Problem(404) from None
    if not NAME.fullmatch(name):
        raise Problem(404)
    return name


def asked_range(request: Request, etag: bytes, size: int) -> tuple[int, int]:
    """Where to start and stop; a Range of several parts, or malformed, is ignored."""
    asked = RANGE.fullmatch(request.getHeader(b"Range") or b"")
    if not asked or request.getHeader(b"If-Range") not in (None, etag):
        return 0, size
    first, last, length = (int(digits) if digits else None for digits in asked.groups())
    start = max(size - length, 0) if first is None else first
    stop = size if last is None else min(last + 1, size)
    if last is not None and first > last:
        return 0, size
    if start >= size:
        raise Problem(416, headers={"Content-Range": f"bytes */{size}"})
    request.setResponseCode(PARTIAL_CONTENT)
    request.setHeader(b"Content-Range", b"bytes %d-%d/%d" % (start, stop - 1, size))
    return start, stop


async def read(file: FileIO, length: int) -> AsyncGenerator[bytes, None]:
    while chunk := file.read(min(length, CHUNK)):
        length -= len(chunk)
        yield chunk
