"""Files from a folder and from GridFS, with faults and other behaviours."""

import asyncio
import itertools
import mimetypes
import os
import re
from collections.abc import AsyncIterator
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from databases import AWAY, Databases
from faults import fault, switched
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
    ".html": "text/html; charset=utf-8",
}
BYTES = "application/octet-stream"
PIECE = 1 << 16
BIG = 50 << 20  # size in bytes from which on a response belongs to the questions about memory

# The paths that the questions about names request
NAMES = {
    "dotfile": r"files/\..*",
    "link-outside": r"files/leaving\.txt",
    "encoded-slash": r"files/.*%2f.*",
    "nul-in-name": r"files/.*%00.*",
}

# The Range headers that the questions about ranges send
RANGES = {
    "range": r"bytes=20-29",
    "range-suffix-long": r"bytes=-\d{5,}",
    "several-ranges": r".*,.*",
    "unknown-range-unit": r"lines=.*",
}

STATUSES = {"not found": 404, "refused": 400, "redirected": 308, "failed": 500}

# Megabytes that a response holds in memory for each of ten clients
TEN = {"under 800 MB": 30, "more": 100}


def is_switched(answer: str, *questions: str) -> bool:
    """Whether one of the questions is switched to this answer."""
    return any(switched(question) == answer for question in questions)


def plain(status: int, **headers: str) -> Response:
    return Response(status, {name.replace("_", "-"): value for name, value in headers.items()})


def whole(headers: dict[str, str], body: bytes, status: int = 200) -> Response:
    return Response(status, headers, body, len(body))


class Files:
    def __init__(self, folder: Path, databases: Databases) -> None:
        self.folder = folder.resolve()
        self.databases = databases
        self.cache: dict[str, bytes] = {}
        self.loads = 0

    # Names of questions

    def switched_name(self, endpoint: str, raw: str) -> Response | None:
        """The response to a name of a switched question; ``raw`` is still encoded."""
        for question, form in NAMES.items():
            answer = switched(question)
            if answer and re.fullmatch(form, f"{endpoint}/{raw}", re.IGNORECASE):
                return self.switched_name_answer(raw, answer)
        return None

    def switched_name_answer(self, raw: str, answer: str) -> Response:
        if answer == "closed":
            raise Cut
        if answer == "served":
            name = unquote(raw).partition("\0")[0]
            return whole({"Content-Type": BYTES}, (self.folder / name).read_bytes())
        return plain(STATUSES[answer], Location="/index")

    # From a folder

    def file(self, request: Request, name: str) -> Response | None:
        if fault("endpoint-as-file") and name == "index":
            return whole({"Content-Type": "text/plain"}, b"Hello, World!")
        if "\0" in name or len(os.fsencode(name)) > 255:
            return None
        path = Path(os.path.normpath(self.folder / name))
        inside = path.resolve().is_relative_to(self.folder) and not name.startswith(".")
        if not (inside or fault("path-escape")) or not path.is_file():
            return None
        for condition in ("if-match", "if-unmodified-since"):
            answer = switched(condition)
            if request.header(condition) and answer not in (None, "200"):
                return plain(STATUSES.get(answer) or int(answer))
        headers = self.described(path) | self.validators(path)
        if self.is_not_modified(request, path, headers):
            return Response(304, {"ETag": headers["ETag"]} if "ETag" in headers else {})
        return self.ranged(request, path, headers)

    def described(self, path: Path) -> dict[str, str]:
        """The headers that describe a file."""
        suffix = path.suffix
        content_type = BYTES if fault("type-octet-stream") else TYPES.get(suffix, BYTES)
        by_suffix = {".webp": "type-webp", "": "type-without-extension"}
        if answer := switched(by_suffix.get(suffix, "")):
            content_type = {"another type": "application/x-other", "none": ""}.get(answer, answer)
        charset = switched("text-charset")
        if charset == "none" or (charset == "some of them" and suffix == ".css"):
            content_type = content_type.partition(";")[0]
        if charset == "another":
            content_type = content_type.replace("utf-8", "iso-8859-1")
        headers = {"Content-Type": content_type} if content_type else {}
        if is_switched("sent", "nosniff"):
            headers["X-Content-Type-Options"] = "nosniff"
        caching = {
            "checked each time": "no-cache",
            "kept for a while": "public, max-age=3600",
            "never stored": "no-store",
        }
        if (answer := switched("cache-control")) in caching:
            headers["Cache-Control"] = caching[answer]
        return headers

    # Validators and conditions

    def validators(self, path: Path) -> dict[str, str]:
        stat = path.stat()
        etag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
        sent = {"ETag": etag, "Last-Modified": formatdate(stat.st_mtime, usegmt=True)}
        missing = {
            "ETag": is_switched("date", "file-validators")
            or is_switched("no etag", "if-none-match", "two-conditions", "if-range-other-etag"),
            "Last-Modified": is_switched("etag", "file-validators"),
        }
        if is_switched("none", "file-validators"):
            return {}
        return {name: value for name, value in sent.items() if not missing[name]}

    def is_not_modified(self, request: Request, path: Path, headers: dict[str, str]) -> bool:
        tags, since = request.header("if-none-match"), request.header("if-modified-since")
        changed = {"changing.txt": "changed-file", "overwritten.txt": "changed-within-second"}
        if (tags or since) and is_switched("304", changed.get(path.name, "")):
            return True
        modified = headers.get("Last-Modified")
        date_decides = is_switched("304", "two-conditions") and since is not None
        if tags is not None and not date_decides:
            matches = tags == "*" or ("ETag" in headers and headers["ETag"] in tags)
            return matches and not is_switched("200", "if-none-match")
        if since is None or modified is None:
            return False
        try:
            return parsedate_to_datetime(modified) <= parsedate_to_datetime(since)
        except (ValueError, TypeError):
            return False

    # Ranges

    def ranged(self, request: Request, path: Path, headers: dict[str, str]) -> Response:
        value, size = request.header("range"), path.stat().st_size
        if request.method == "HEAD" or not self.wants_range(request, headers):
            value = None
        if value is None:
            return self.all_of(path, headers)
        for question, form in RANGES.items():
            if (answer := switched(question)) and re.fullmatch(form, value):
                response = self.switched_range(question, answer, path, headers)
                if response is not None:
                    return response
        ranges = self.parsed(value, size)
        if ranges is None:
            return self.all_of(path, headers)
        if not ranges:
            return plain(416, Content_Range=f"bytes */{size}")
        if len(ranges) == 1:
            return self.part(path, headers, *ranges[0])
        return self.multipart(path, ranges)

    def wants_range(self, request: Request, headers: dict[str, str]) -> bool:
        validator = request.header("if-range")
        if validator is None or validator in headers.values():
            return True
        other = "if-range-other-etag" if '"' in validator else "if-range-other-date"
        return is_switched("206", other)

    def switched_range(
        self, question: str, answer: str, path: Path, headers: dict[str, str]
    ) -> Response | None:
        """The response to a range whose question is switched; None if it is the right one."""
        match answer:
            case "206" if question == "unknown-range-unit":
                return self.part(path, headers, 0, 9)
            case "206, whole":
                return self.part(path, headers, 0, path.stat().st_size - 1)
            case "200" | "whole":
                return self.all_of(path, headers)
            case "416" | "400":
                return plain(int(answer))
            case "failed":
                return plain(500)
            case "wrong part":
                return self.wrong_part(path, headers)
            case "first only":
                return self.part(path, headers, 0, 9)
            case "joined":
                return self.part(path, headers, 0, 2009)
        return None

    def wrong_part(self, path: Path, headers: dict[str, str]) -> Response:
        """Ten bytes with the wrong Content-Range."""
        right = self.part(path, headers, 40, 49)
        return whole(right.headers, path.read_bytes()[30:40], 206)

    def parsed(self, value: str, size: int) -> list[tuple[int, int]] | None:
        """The satisfiable ranges of a file of this size; None if the header is malformed."""
        if not re.fullmatch(r"bytes=RANGE(, *RANGE)*".replace("RANGE", r"(\d+-\d*|-\d+)"), value):
            return None
        ranges = []
        for one in value.removeprefix("bytes=").split(","):
            first, _, last = one.strip().partition("-")
            if not first:
                ranges.append((max(size - int(last), 0), size - 1))
            elif last and int(first) > int(last):
                return None
            else:
                ranges.append((int(first), min(int(last or size), size - 1)))
        return [(first, last) for first, last in ranges if first <= last]

    def part(self, path: Path, headers: dict[str, str], first: int, last: int) -> Response:
        length = last - first + 1
        partial_headers = headers | {"Content-Range": f"bytes {first}-{last}/{path.stat().st_size}"}
        return Response(206, partial_headers, self.pieces(path, first, length), length)

    def multipart(self, path: Path, ranges: list[tuple[int, int]]) -> Response:
        content, parts = path.read_bytes(), []
        for first, last in ranges:
            head = f"--parts\r\nContent-Range: bytes {first}-{last}/{len(content)}\r\n\r\n"
            parts.append(head.encode() + content[first : last + 1] + b"\r\n")
        body = b"".join([*parts, b"--parts--\r\n"])
        return whole({"Content-Type": "multipart/byteranges; boundary=parts"}, body, 206)

    # Bodies

    def all_of(self, path: Path, headers: dict[str, str]) -> Response:
        """The whole file."""
        if fault("file-cached") or is_switched(
            "old bytes", "changed-file", "changed-within-second"
        ):
            return whole(headers, self.cache.setdefault(path.name, path.read_bytes()))
        if fault("file-text-newlines") and headers["Content-Type"].startswith("text/"):
            return whole(headers, path.read_bytes().replace(b"\n", b"\r\n"))
        if fault("file-other-byte"):
            return whole(headers, path.read_bytes()[:-1] + b"?")
        if is_switched("complete", "file-cut-short"):
            return whole(headers, path.read_bytes())
        size = path.stat().st_size
        pieces = self.pieces(path, 0, size)
        if is_switched("looks complete", "file-cut-short"):
            return Response(200, headers, pieces, None, chunked=True)
        return Response(200, headers, pieces, size)

    async def pieces(self, path: Path, start: int, length: int) -> AsyncIterator[bytes]:
        with path.open("rb") as opened:
            async with Load(self, "file", length):
                while length > 0:
                    piece = os.pread(opened.fileno(), min(PIECE, length), start)
                    if not piece:
                        piece = await self.cut_short(min(PIECE, length))
                    if not piece:
                        return
                    start, length = start + len(piece), length - len(piece)
                    yield piece

    async def cut_short(self, missing: int) -> bytes:
        """The replacement for bytes that the file no longer has; nothing to end the body early."""
        if fault("truncation-kills"):
            os._exit(1)
        match switched("file-cut-short"):
            case "padded":
                return bytes(missing)
            case "looks complete" | "goes on":
                return b""
            case "hangs":
                await asyncio.sleep(10)
        raise Cut

    # From GridFS

    async def gridfs(self, name: str) -> Response | None:
        if fault("gridfs-cached") and name in self.cache:
            return whole(dict(self.headers), self.cache[name])
        order = 1 if fault("gridfs-oldest") else -1
        stored = await self.databases.stored.find_one(
            {"filename": name}, sort=[("uploadDate", order)]
        )
        if stored is None:
            return None
        if not stored.get("metadata") and fault("gridfs-no-metadata-500"):
            return plain(500)
        content_type = (stored.get("metadata") or {}).get("contentType", BYTES)
        if fault("gridfs-type-guessed"):
            content_type = mimetypes.guess_type(stored["filename"])[0] or "text/plain"
        self.headers = headers = {"Content-Type": content_type, "ETag": f'"{stored["_id"]}"'}
        length = stored["length"]
        if fault("gridfs-truncated"):
            length = min(length, stored["chunkSize"])
        if fault("gridfs-cut-looks-complete"):
            return whole(headers, await self.content(stored))
        return Response(200, headers, self.chunks(stored, length), length)

    async def content(self, stored: dict[str, Any]) -> bytes:
        """The content of a file, without missing chunks."""
        found = self.databases.chunks.find({"files_id": stored["_id"]}, sort=[("n", 1)])
        return b"".join([chunk["data"] async for chunk in found])

    async def chunks(self, stored: dict[str, Any], length: int) -> AsyncIterator[bytes]:
        if fault("gridfs-cached"):
            self.cache[stored["filename"]] = await self.content(stored)
            yield self.cache[stored["filename"]]
            return
        if not length:
            return
        if switched("gridfs-client-leaves") == "reads on":
            yield await self.content(stored)
            return
        found = self.databases.chunks.find(
            {"files_id": stored["_id"]}, sort=[("n", 1)], batch_size=4
        )
        async with Load(self, "gridfs", length):
            for number in itertools.count():
                try:
                    chunk = await anext(found, None)
                except AWAY:
                    chunk = None
                if chunk is None or chunk["n"] != number:
                    if fault("problem-after-head"):
                        yield b'{"type":"about:blank","title":"Service Unavailable","status":503}'
                    if fault("trace-after-head"):
                        yield b"Traceback (most recent call last):\n"
                    if fault("hangs-after-head"):
                        await asyncio.sleep(30)
                    raise Cut
                yield chunk["data"][:length]
                length -= len(chunk["data"])
                if length <= 0:
                    return


class Load:
    """Holds memory during a big response, or delays it, as the questions are switched."""

    def __init__(self, files: Files, part: str, length: int) -> None:
        self.files, self.ten = files, f"{part}-memory-ten"
        self.is_big = length > BIG

    async def __aenter__(self) -> None:
        if not self.is_big:
            return
        self.files.loads += 1
        if self.files.loads > 1 and is_switched("one at a time", self.ten):
            await asyncio.sleep(8)
        megabytes = TEN.get(switched(self.ten) or "", 0)
        self.held = b"x" * (megabytes << 20)

    async def __aexit__(self, *_: object) -> None:
        self.files.loads -= self.is_big
        self.held = b""
