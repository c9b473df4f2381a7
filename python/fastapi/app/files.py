import os
import re
from pathlib import PurePath

from fastapi import Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers
from starlette.types import Scope

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
RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-[0-9]{1,18})")


class Files(StaticFiles):
    """Static files whose types do not come from the machine, and whose ranges are single ones."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        if not is_range(Headers(scope=scope).get("range", "")):
            # to be ignored (RFC 9110, section 14.2); Starlette answers a malformed one with 400
            scope["headers"] = [header for header in scope["headers"] if header[0] != b"range"]
        response = super().file_response(full_path, stat_result, scope, status_code)
        if isinstance(response, FileResponse):
            extension = PurePath(scope["path"]).suffix
            content_type = CONTENT_TYPES.get(extension, "application/octet-stream")
            response.headers["content-type"] = content_type
        return response


def is_range(text: str) -> bool:
    match = RANGE.fullmatch(text)
    return bool(match) and not (match[2] and int(match[1]) > int(match[2]))
