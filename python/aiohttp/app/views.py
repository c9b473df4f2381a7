import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import orjson
from aiohttp import ClientError, ClientSession, ClientTimeout, web
from gridfs import AsyncGridFSBucket, AsyncGridOut, NoFile

from app import settings
from app.databases import AGENTS, MONGODB, POSTGRESQL

SESSION = web.AppKey("session", ClientSession)


def json_response(data: object) -> web.Response:
    return web.json_bytes_response(data, dumps=orjson.dumps)


async def index(request: web.Request) -> web.Response:
    return web.Response(text="Hello, World!")


async def hello(request: web.Request) -> web.Response:
    return json_response({"message": "Hello, World!"})


async def mongo(request: web.Request) -> web.Response:
    slug = request.query.get("doc", "small")
    if slug not in ("small", "big"):
        raise web.HTTPBadRequest(text="doc must be small or big")
    if article := await request.app[MONGODB].articles.find_one({"slug": slug}):
        return json_response(article | {"_id": str(article["_id"])})
    raise web.HTTPNotFound


async def agents(request: web.Request) -> web.Response:
    rows = await request.app[POSTGRESQL].fetch(AGENTS)
    return json_response([dict(row) for row in rows])


async def files(request: web.Request) -> web.FileResponse:
    with suppress(OSError, ValueError):
        path = (settings.FILES_DIR / request.match_info["name"]).resolve(strict=True)
        if path.is_relative_to(settings.FILES_DIR) and path.is_file():
            return web.FileResponse(path)
    raise web.HTTPNotFound


async def gridfs(request: web.Request) -> web.Response:
    bucket = AsyncGridFSBucket(request.app[MONGODB])
    with suppress(NoFile):
        file = await bucket.open_download_stream_by_name(request.match_info["name"])
        headers = {"Content-Type": file.metadata["contentType"], "Content-Length": str(file.length)}
        return web.Response(body=chunks(file), headers=headers)
    raise web.HTTPNotFound


async def chunks(file: AsyncGridOut) -> AsyncIterator[bytes]:
    while chunk := await file.readchunk():
        yield chunk


async def sleep(request: web.Request) -> web.Response:
    ms = integer(request, "ms", default=1000, low=0, high=30000)
    await asyncio.sleep(ms / 1000)
    return json_response({"slept_ms": ms})


async def slow_api(request: web.Request) -> web.Response:
    calls = integer(request, "calls", default=10, low=1, high=50)
    ms = integer(request, "ms", default=1000, low=0, high=5000)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call(request, number, ms)) for number in range(calls)]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return json_response({"results": [task.result() for task in tasks]})


async def call(request: web.Request, number: int, ms: int) -> dict[str, object]:
    request_id = request.headers.get("X-Request-Id")
    with suppress(ClientError, TimeoutError, ValueError):
        async with request.app[SESSION].get(
            settings.SLOW_API_URL,
            params={"call": number, "ms": ms},
            headers={"X-Request-Id": request_id} if request_id else None,
            timeout=ClientTimeout(total=ms / 1000 + 5),
            allow_redirects=False,
        ) as response:
            result = await response.json(loads=orjson.loads)
            if response.status == 200 and isinstance(result, dict):
                return result
    raise web.HTTPBadGateway


def integer(request: web.Request, name: str, *, default: int, low: int, high: int) -> int:
    with suppress(ValueError):
        value = int(request.query.get(name, default))
        if low <= value <= high:
            return value
    raise web.HTTPBadRequest(text=f"{name} must be an integer from {low} to {high}")
