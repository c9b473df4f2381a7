"""Files from a folder and from GridFS, with faults."""

import math
import mimetypes
import os
import re
import time
from collections.abc import AsyncIterator
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from typing import IO, Any

from databases import Databases
from faults import fault
from wire import Cut, Request, Response

TYPES = {
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
PIECE = 1 << 16


def matches(value: str, etag: str, prefix: str) -> bool:
    """Whether If-None-Match holds ``etag`` by weak comparison (RFC 9110, section 13.1.2)."""
    if value.strip() == "*":
        return True
    tags = re.findall(r'(W/)?("[^"]*")', value)
    if fault(f"{prefix}if-none-match-one"):
        tags = tags[:1]
    return any(tag == etag and not (weak and fault("if-none-match-strong")) for weak, tag in tags)


class Files:
    def __init__(self, folder: Path, databases: Databases) -> None:
        self.folder = folder.resolve()
        self.databases = databases
        self.cache: dict[str, bytes] = {}
        self.count = 0

    # From a folder

    def file(self, request: Request, name: str) -> Response | None:
        self.count += 1
        path = Path(os.path.normpath(self.folder / name))
        if name.startswith(".") and not fault("dotfile-served", "path-escape"):
            return None
        if "\0" in name:
            return None
        resolved = path.resolve()
        inside = resolved.is_relative_to(self.folder)
        followed = path.is_symlink() and fault("link-followed")
        if not (inside or followed or fault("path-escape")):
            return None
        if path.is_dir() and fault("directory-served"):
            return self.whole({"Content-Type": TYPES[".txt"]}, b"inside.txt")
        if not path.is_file():
            return None
        opened = path.open("rb")
        stat = os.fstat(opened.fileno())
        return self.conditional(request, name, opened, stat)

    def whole(self, headers: dict[str, str], body: bytes) -> Response:
        return Response(200, headers, body, len(body))

    def conditional(
        self, request: Request, name: str, opened: IO[bytes], stat: os.stat_result
    ) -> Response:
        etag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
        if fault("etag-changes"):
            etag = f'"{self.count}"'
        if fault("etag-of-name"):
            etag = f'"{name}"'
        modified = math.ceil(stat.st_mtime)
        headers = {"Content-Type": self.type_of(name), "ETag": etag, "Accept-Ranges": "bytes"}
        headers["Last-Modified"] = formatdate(
            time.time() if fault("file-date-now") else modified, usegmt=True
        )
        for header, missing in (
            ("ETag", "file-without-etag"),
            ("Last-Modified", "file-without-date"),
            ("Accept-Ranges", "file-without-accept-ranges"),
        ):
            if fault(missing):
                del headers[header]
        if self.is_not_modified(request, etag, stat, modified):
            opened.close()
            sent = {} if fault("304-without-etag") else {"ETag": etag}
            return Response(304, sent)
        return self.ranged(request, name, opened, stat.st_size, headers)

    def type_of(self, name: str) -> str:
        if fault("machine-types"):
            return mimetypes.guess_type(name)[0] or "application/octet-stream"
        content_type = TYPES.get(Path(name).suffix, "application/octet-stream")
        return content_type.split(";")[0] if fault("type-without-charset") else content_type

    def is_not_modified(
        self, request: Request, etag: str, stat: os.stat_result, modified: float
    ) -> bool:
        tags, since = request.header("if-none-match"), request.header("if-modified-since")
        since_first = fault("if-modified-since-first") and since is not None
        if tags is not None and not since_first and not fault("if-none-match-ignored"):
            return matches(tags, etag, "")
        if since is None or fault("if-modified-since-ignored"):
            return False
        try:
            date = parsedate_to_datetime(since).timestamp()
        except ValueError:
            return fault("if-modified-since-always")
        if fault("if-modified-since-fraction"):
            return stat.st_mtime + 0.001 <= math.floor(date) - 0.999
        return modified <= date or fault("if-modified-since-always")

    def ranged(
        self, request: Request, name: str, opened: IO[bytes], size: int, headers: dict[str, str]
    ) -> Response:
        value = request.header("range")
        if request.header("if-range") and not fault("if-range-ignored"):
            value = None
        if value is None or request.method == "HEAD" or fault("range-ignored"):
            return self.sent(name, opened, 0, size, 200, headers)
        form = re.fullmatch(r"bytes=(\d*)-(\d*)", value)
        if "," in value and fault("ranges-first-only"):
            return self.sent(name, opened, 1, 10, 206, headers | {"Content-Type": "text/plain"})
        if form is None or form.groups() == ("", ""):
            if fault("range-malformed-400") and "," not in value:
                return Response(400, {"Content-Type": "text/plain"}, b"", 0)
            if fault("range-malformed-206"):
                return self.sent(name, opened, 0, 1, 206, headers)
            return self.sent(name, opened, 0, size, 200, headers)
        first, last = form.groups()
        if first and last and int(first) > int(last):
            return self.sent(name, opened, 0, size, 200, headers)
        if first or fault("range-suffix-as-start"):
            start, end = int(first or last), min(int((first and last) or size), size - 1)
        else:
            start, end = max(size - int(last), 0), size - 1
        if start >= size or (fault("range-past-end-416") and last and int(last) >= size):
            told = (
                {} if fault("416-without-content-range") else {"Content-Range": f"bytes */{size}"}
            )
            return Response(416, told)
        if not fault("range-without-content-range"):
            headers["Content-Range"] = f"bytes {start}-{end}/{size}"
        length = end - start + (0 if fault("range-off-by-one") and end > start else 1)
        return self.sent(name, opened, start, length, 206, headers)

    def sent(
        self,
        name: str,
        opened: IO[bytes],
        start: int,
        length: int,
        status: int,
        headers: dict[str, str],
    ) -> Response:
        if fault("file-cached"):
            body = self.cache.setdefault(name, opened.read())
            return Response(status, headers, body[start : start + length], len(body))
        if fault("file-text-newlines") and headers["Content-Type"].startswith("text/"):
            body = opened.read().replace(b"\n", b"\r\n")
            return Response(status, headers, body, len(body))
        return Response(status, headers, self.pieces(opened, start, length), length)

    async def pieces(self, opened: IO[bytes], start: int, length: int) -> AsyncIterator[bytes]:
        with opened:
            while length > 0:
                piece = os.pread(opened.fileno(), min(PIECE, length), start)
                if not piece:
                    if fault("truncation-kills"):
                        os._exit(1)
                    if fault("truncation-hangs"):
                        time.sleep(9)
                    raise Cut
                start, length = start + len(piece), length - len(piece)
                yield piece

    # From GridFS

    async def gridfs(self, request: Request, name: str) -> Response | None:
        if fault("gridfs-cached") and name in self.cache:
            return self.whole(dict(self.headers), self.cache[name])
        order = 1 if fault("gridfs-oldest") else -1
        stored = await self.databases.stored().find_one(
            {"filename": name}, sort=[("uploadDate", order)]
        )
        if stored is None:
            return None
        self.count += 1
        etag = f'"{stored["_id"]}"'
        if fault("gridfs-etag-changes"):
            etag = f'"{self.count}"'
        if fault("gridfs-etag-of-name"):
            etag = f'"{name}"'
        tags = request.header("if-none-match")
        if tags and not fault("gridfs-if-none-match-ignored") and matches(tags, etag, "gridfs-"):
            return Response(304, {} if fault("gridfs-304-without-etag") else {"ETag": etag})
        return self.revision(request, stored, etag)

    def revision(self, request: Request, stored: dict[str, Any], etag: str) -> Response:
        content_type = stored["metadata"]["contentType"]
        if fault("gridfs-type-guessed"):
            content_type = mimetypes.guess_type(stored["filename"])[0] or "text/plain"
        headers = {"Content-Type": content_type, "ETag": etag}
        if fault("gridfs-without-etag"):
            del headers["ETag"]
        if fault("gridfs-last-modified"):
            headers["Last-Modified"] = formatdate(usegmt=True)
        if fault("gridfs-range") and request.header("range"):
            return Response(206, headers, b"part", 4)
        length = stored["length"]
        if fault("gridfs-truncated"):
            length = min(length, stored["chunkSize"])
        self.headers = headers
        return Response(200, headers, self.chunks(stored, length), length)

    async def chunks(self, stored: dict[str, Any], length: int) -> AsyncIterator[bytes]:
        found = self.databases.chunks().find(
            {"files_id": stored["_id"]}, sort=[("n", 1)], batch_size=4
        )
        if fault("gridfs-cached"):
            data = b"".join([chunk["data"] async for chunk in found])
            self.cache[stored["filename"]] = data
            yield data
            return
        async for chunk in found:
            yield chunk["data"][:length]
            length -= len(chunk["data"])
            if length <= 0:
                return
