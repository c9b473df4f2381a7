from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_request import BaseRequest
from gridfs.asynchronous import AsyncGridOut
from gridfs.errors import NoFile

from app.db import CHUNKS, GRIDFS, SETTINGS, turn

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


class FileResponse(web.FileResponse):
    """A file response that knows entity tags in If-Range, where aiohttp's knows dates alone."""

    async def prepare(self, request: BaseRequest) -> AbstractStreamWriter | None:
        if hdrs.IF_RANGE in request.headers and request.if_range is None:
            headers = request.headers.copy()
            headers.popall(hdrs.RANGE, None)
            request = request.clone(headers=headers)
        writer = await super().prepare(request)
        if request.method == hdrs.METH_GET and writer and writer.length and request.transport:
            request.transport.close()  # the file has become shorter than announced
        return writer


def file_name(request: web.Request) -> str:
    name = request.match_info["name"]
    if name.startswith(".") or any(character in name for character in "/\\\0"):
        raise web.HTTPNotFound
    return name


async def file(request: web.Request) -> web.StreamResponse:
    folder = request.app[SETTINGS].files_dir
    path = (folder / file_name(request)).resolve()
    if not (path.is_relative_to(folder) and path.is_file()):
        raise web.HTTPNotFound
    content_type = CONTENT_TYPES.get(path.suffix, "application/octet-stream")
    return FileResponse(path, headers={hdrs.CONTENT_TYPE: content_type})


async def gridfs(request: web.Request) -> web.StreamResponse:
    try:
        async with turn(request.app):
            stored = await request.app[GRIDFS].open_download_stream_by_name(file_name(request))
    except NoFile:
        raise web.HTTPNotFound from None
    response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: stored.metadata["contentType"]})
    response.etag = str(stored._id)
    if any(tag.value in ("*", str(stored._id)) for tag in request.if_none_match or ()):
        response.set_status(304)
        return response
    response.content_length = stored.length
    await response.prepare(request)
    if request.method == hdrs.METH_GET:
        await send_chunks(request, response, stored)
    return response


async def send_chunks(
    request: web.Request, response: web.StreamResponse, stored: AsyncGridOut
) -> None:
    # GridOut reads 16 MB at a time; https://github.com/mongodb/specifications has the collection
    chunks = request.app[CHUNKS].find({"files_id": stored._id}, sort={"n": 1}, batch_size=2)
    try:
        while chunks.alive:
            async with turn(request.app):
                batch = await chunks.to_list(2)
            for chunk in batch:
                await response.write(chunk["data"])
    except web.HTTPServiceUnavailable:
        if request.transport:
            request.transport.abort()  # the headers are out: the client must see that it is cut
