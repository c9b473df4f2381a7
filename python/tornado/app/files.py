import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from gridfs.errors import NoFile
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, StaticFileHandler

from app.db import database_operation
from app.handlers import Handler

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

RANGE = re.compile(r"bytes=(?!-$)([0-9]{0,18})-([0-9]{0,18})")


class Named(Handler):
    """What has a file's name in its path."""

    def decode_argument(self, value: bytes, name: str | None = None) -> str:
        if value.startswith(b".") or any(byte in value for byte in b"/\\\0"):
            raise HTTPError(404)
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise HTTPError(404) from None


class File(StaticFileHandler, Named):
    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        try:
            return super().validate_absolute_path(root, absolute_path)
        except HTTPError:
            raise HTTPError(404) from None

    def compute_etag(self) -> str:
        # Tornado's own is a hash of the content, read once in the life of the process
        stat = Path(self.absolute_path).stat()
        return f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'

    def get_content_type(self) -> str:
        return CONTENT_TYPES.get(Path(self.path).suffix, "application/octet-stream")

    def get_cache_time(self, path: str, modified: datetime | None, mime_type: str) -> int:
        return 0

    def should_return_304(self) -> bool:
        if super().should_return_304():
            return True
        # Tornado knows no If-Range, takes "--5" for a range, and sends 200 if a range is the whole
        headers, size = self.request.headers, self.get_content_size()
        asked = RANGE.fullmatch(headers.get("Range", ""))
        if asked is None or headers.get("If-Range") not in (None, self.compute_etag()):
            headers.pop("Range", None)
            return False
        first, last = asked.groups()
        start = int(first) if first else max(size - int(last), 0)
        end = int(last) if first and last else size
        if start == 0 and end >= size - 1:
            self.set_status(206)
            self.set_header("Content-Range", f"bytes 0-{size - 1}/{size}")
        return False


class GridFS(Named):
    async def get(self, name: str) -> None:
        try:
            async with database_operation():
                stored = await self.settings["gridfs"].open_download_stream_by_name(name)
        except NoFile:
            raise HTTPError(404) from None
        self.set_header("Content-Type", stored.metadata["contentType"])
        self.set_header("ETag", f'"{stored._id}"')
        if self.check_etag_header():
            self.set_status(304)
            return
        self.set_header("Content-Length", stored.length)
        if self.request.method == "GET":
            # GridOut reads 16 MB at a time; the collection is in MongoDB's GridFS specification
            chunks = self.settings["chunks"].find(
                {"files_id": stored._id}, sort=[("n", 1)], batch_size=2
            )
            with suppress(StreamClosedError):
                async for chunk in chunks:
                    self.write(chunk["data"])
                    await self.flush()
