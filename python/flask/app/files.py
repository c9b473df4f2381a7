import logging
from collections.abc import Iterable, Iterator
from contextlib import closing
from os.path import isfile
from pathlib import Path

from flask import (
    Blueprint,
    Response,
    abort,
    current_app,
    request,
    send_file,
    stream_with_context,
)
from gridfs import GridOut
from gridfs.errors import NoFile
from pymongo.errors import PyMongoError
from werkzeug.routing import BaseConverter
from werkzeug.wsgi import FileWrapper

from app.db import in_turn

bp = Blueprint("files", __name__)
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


class NameConverter(BaseConverter):
    """A name that is not hidden, of one segment; U+FFFD is what Werkzeug reads for bad UTF-8."""

    regex = r"[^./\\\0\ufffd][^/\\\0\ufffd]*"


@bp.get("/files/<name:name>")
def file(name: str) -> Response:
    folder = current_app.config["FILES_DIR"]
    path = (folder / name).resolve()
    if not (path.is_relative_to(folder) and isfile(path)):  # noqa: PTH113
        abort(404)
    if request.range and request.range.ranges[0][0] < -path.stat().st_size:
        request.environ["HTTP_RANGE"] = "bytes=0-"  # Werkzeug has no suffix longer than the file
    # The server's own wrapper would not notice that the file is cut short while it is sent
    request.environ["wsgi.file_wrapper"] = FileWrapper
    response = send_file(path)
    response.content_type = CONTENT_TYPES.get(Path(name).suffix, "application/octet-stream")
    return streamed(response)


@bp.get("/gridfs/<name:name>")
def gridfs(name: str) -> Response:
    try:
        stored = in_turn(current_app.extensions["gridfs"].open_download_stream_by_name, name)
    except NoFile:
        abort(404)
    response = Response(stream_with_context(chunks(stored)), direct_passthrough=True)
    response.content_type = stored.metadata["contentType"]
    response.content_length = stored.length
    response.set_etag(str(stored._id))
    return streamed(response.make_conditional(request))


def chunks(stored: GridOut) -> Iterator[bytes]:
    # GridOut reads 16 MB at a time; https://github.com/mongodb/specifications has the collection
    find = current_app.extensions["chunks"].find
    with find({"files_id": stored._id}, sort={"n": 1}, batch_size=2) as cursor:
        while batch := in_turn(cursor.to_list, 2):
            for chunk in batch:
                yield chunk["data"]


def streamed(response: Response) -> Response:
    del response.headers["Date"]  # that make_conditional sets: the server sends its own
    response.response = whole(response.response, response.content_length or 0)
    return response


def whole(body: Iterable[bytes], length: int) -> Iterator[bytes]:
    """Pass on a body of this length; if it ends early, the client must see that it is cut."""
    with closing(body):
        try:
            for data in body:
                yield data[:length]
                length -= len(data)
                if length <= 0:
                    break
        except (OSError, PyMongoError) as error:
            logger.error("%r", error)
    if length > 0:
        raise ConnectionAbortedError(f"the body ends {length} bytes early")
