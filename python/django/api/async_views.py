import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import nullcontext
from time import monotonic
from typing import Any, BinaryIO, TypeVar

import pymongo
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe
from gridfs.asynchronous import AsyncGridFSBucket, AsyncGridOut
from gridfs.errors import NoFile
from pymongo import AsyncMongoClient
from pymongo.errors import WaitQueueTimeoutError

from api import upstream
from api.files import CHUNK, file_response, gridfs_response
from api.models import AgentFeature
from api.parameters import article_slug, calls_and_ms, sleep_ms
from api.responses import json_response, text_response

T = TypeVar("T")

mongodb = AsyncMongoClient[dict[str, Any]](**settings.MONGODB).get_default_database("refservers")
articles = mongodb["articles"]
# lazy, as a generic view has it: each request evaluates a copy
AGENTS = AgentFeature.objects.with_status()
operations: set[asyncio.Task[Any]] = set()
turns = asyncio.Semaphore(settings.MONGODB["maxPoolSize"])
TIMEOUT = 2.5  # seconds for an operation of MongoDB with all that it waits for


async def finished(operation: Callable[..., Awaitable[T]], *args: Any) -> T:
    """The result of an operation that goes on if its client goes and Django cancels the view.

    PyMongo, cancelled, may keep a lock for ever before Python 3.12: python/cpython#86766.
    """
    task = asyncio.create_task(in_turn(operation, *args))
    operations.add(task)
    task.add_done_callback(operations.discard)
    return await asyncio.shield(task)


async def in_turn(operation: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Waits for one of the pool's connections here: a crowd that waits in the driver stalls it."""
    deadline = monotonic() + TIMEOUT
    try:
        async with asyncio.timeout(TIMEOUT) if turns.locked() else nullcontext():
            await turns.acquire()
    except TimeoutError as error:
        raise WaitQueueTimeoutError("too many wait for MongoDB") from error
    try:
        with pymongo.timeout(max(deadline - monotonic() - 0.5, 0.1)):  # it may be that much late
            return await operation(*args)
    finally:
        turns.release()


async def close() -> None:
    await asyncio.gather(*operations, return_exceptions=True)
    await upstream.close()


@require_safe
async def index(request: HttpRequest) -> HttpResponse:
    return text_response("Hello, World!")


@require_safe
async def hello(request: HttpRequest) -> HttpResponse:
    return json_response({"message": "Hello, World!"})


@require_safe
async def mongo(request: HttpRequest) -> HttpResponse:
    article = await finished(articles.find_one, {"slug": article_slug(request)})
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
        stored = await finished(AsyncGridFSBucket(mongodb).open_download_stream_by_name, name)
    except NoFile:
        raise Http404 from None
    return gridfs_response(request, stored, chunks(stored))


async def chunks(stored: AsyncGridOut) -> AsyncIterator[bytes]:
    left = stored.length
    # AsyncGridOut would read 16 MB at a time
    query = mongodb.fs.chunks.find({"files_id": stored._id}, sort={"n": 1}, batch_size=2)
    while batch := await finished(query.to_list, 2):
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
