import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any, BinaryIO, TypeVar

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe
from gridfs.asynchronous import AsyncGridFSBucket, AsyncGridOut
from gridfs.errors import NoFile
from pymongo import AsyncMongoClient

from api import upstream
from api.files import CHUNK, file_response, gridfs_response
from api.models import AgentFeature
from api.parameters import article_slug, calls_and_ms, sleep_ms
from api.responses import json_response, text_response

T = TypeVar("T")

mongodb = AsyncMongoClient[dict[str, Any]](**settings.MONGODB).get_default_database("refservers")
# lazy, as a generic view has it: each request evaluates a copy
AGENTS = AgentFeature.objects.with_status()
operations: set[asyncio.Future[Any]] = set()


async def finished(operation: Awaitable[T]) -> T:
    """The result of an operation that goes on if its client goes and Django cancels the view.

    PyMongo, cancelled, may keep a lock for ever before Python 3.12: python/cpython#86766.
    """
    future = asyncio.gather(operation, return_exceptions=True)
    operations.add(future)
    future.add_done_callback(operations.discard)
    [result] = await asyncio.shield(future)
    if isinstance(result, Exception):
        raise result
    return result


async def close() -> None:
    await asyncio.gather(*operations)
    await upstream.close()


@require_safe
async def index(request: HttpRequest) -> HttpResponse:
    return text_response("Hello, World!")


@require_safe
async def hello(request: HttpRequest) -> HttpResponse:
    return json_response({"message": "Hello, World!"})


@require_safe
async def mongo(request: HttpRequest) -> HttpResponse:
    article = await finished(mongodb.articles.find_one({"slug": article_slug(request)}))
    if article is None:
        raise Http404
    return json_response(article)


@require_safe
async def agents(request: HttpRequest) -> HttpResponse:
    return json_response([agent async for agent in AGENTS.all()])


@require_safe
async def file(request: HttpRequest, name: str) -> HttpResponseBase:
    return await asyncio.to_thread(file_response, request, name, read)


async def read(file: BinaryIO, length: int) -> AsyncIterator[bytes]:
    with file:
        while length:
            chunk = await asyncio.to_thread(file.read, min(length, CHUNK))
            if not chunk:
                raise EOFError("the file has been cut while it is sent")
            length -= len(chunk)
            yield chunk


@require_safe
async def gridfs(request: HttpRequest, name: str) -> HttpResponseBase:
    try:
        stored = await finished(AsyncGridFSBucket(mongodb).open_download_stream_by_name(name))
    except NoFile:
        raise Http404 from None
    return gridfs_response(request, stored, chunks(stored))


async def chunks(stored: AsyncGridOut) -> AsyncIterator[bytes]:
    left = stored.length
    # AsyncGridOut would read 16 MB at a time
    query = mongodb.fs.chunks.find({"files_id": stored._id}, sort={"n": 1}, batch_size=4)
    while batch := await finished(query.to_list(4)):
        for chunk in batch:
            left -= len(chunk["data"])
            yield chunk["data"]
    if left:
        raise EOFError("the file has been deleted while it is sent")


@require_safe
async def sleep(request: HttpRequest) -> HttpResponse:
    ms = sleep_ms(request)
    await asyncio.sleep(ms / 1000)
    return json_response({"slept_ms": ms})


@require_safe
async def slow_api(request: HttpRequest) -> HttpResponse:
    results = await upstream.fetch_all(*calls_and_ms(request), request.headers.get("X-Request-Id"))
    return json_response({"results": results})
