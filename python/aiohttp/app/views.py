import asyncio
import os.path
from collections.abc import AsyncGenerator
from functools import partial
from typing import Literal

import orjson
from aiohttp import ClientError, web
from bson import ObjectId
from gridfs import AsyncGridFSBucket, AsyncGridOut, NoFile
from pydantic import BaseModel, Field

from app.databases import AGENTS, MONGODB, POSTGRESQL, UPSTREAM, fetch
from app.settings import settings

# str writes an ObjectId
json_response = partial(web.json_bytes_response, dumps=partial(orjson.dumps, default=str))


class Doc(BaseModel):
    doc: Literal["small", "big"] = "small"


class Note(BaseModel):
    title: str = Field(min_length=1, max_length=200)
    text: str = Field(max_length=10_000)


class Sleep(BaseModel):
    ms: int = Field(1000, ge=0, le=30000)


class SlowApi(BaseModel):
    calls: int = Field(10, ge=1, le=50)
    ms: int = Field(1000, ge=0, le=5000)


async def index(request: web.Request) -> web.Response:
    return web.Response(text="Hello, World!")


async def hello(request: web.Request) -> web.Response:
    return json_response({"message": "Hello, World!"})


async def mongo(request: web.Request) -> web.Response:
    query = Doc.model_validate(request.query)
    if article := await request.app[MONGODB].articles.find_one({"slug": query.doc}):
        return json_response(article)
    raise web.HTTPNotFound


async def create_note(request: web.Request) -> web.Response:
    note = Note.model_validate_json(await request.read())
    document = {"_id": ObjectId()} | note.model_dump()
    await request.app[MONGODB].notes.insert_one(document)
    location = request.app.router["note"].url_for(id=str(document["_id"]))
    return json_response(document, status=201, headers={"Location": str(location)})


async def read_note(request: web.Request) -> web.Response:
    if note := await request.app[MONGODB].notes.find_one(ObjectId(request.match_info["id"])):
        return json_response(note)
    raise web.HTTPNotFound


async def agents(request: web.Request) -> web.Response:
    return json_response(await fetch(request.app[POSTGRESQL], AGENTS))


async def files(request: web.Request) -> web.FileResponse:
    return await asyncio.to_thread(find, request.match_info["name"])


def find(name: str) -> web.FileResponse:
    path = settings.FILES_DIR / name
    if os.path.isfile(path) and path.resolve().is_relative_to(settings.FILES_DIR.resolve()):
        return web.FileResponse(path)
    raise web.HTTPNotFound


async def gridfs(request: web.Request) -> web.Response:
    bucket = AsyncGridFSBucket(request.app[MONGODB])
    try:
        file = await bucket.open_download_stream_by_name(request.match_info["name"])
    except NoFile as error:
        raise web.HTTPNotFound from error
    content_type = (file.metadata or {}).get("contentType", "application/octet-stream")
    headers = {"Content-Type": content_type, "Content-Length": str(file.length)}
    return web.Response(body=chunks(file), headers=headers)


async def chunks(file: AsyncGridOut) -> AsyncGenerator[bytes, None]:
    async with file:
        while chunk := await file.readchunk():
            yield chunk


async def sleep(request: web.Request) -> web.Response:
    query = Sleep.model_validate(request.query)
    await asyncio.sleep(query.ms / 1000)
    return json_response({"slept_ms": query.ms})


async def slow_api(request: web.Request) -> web.Response:
    query = SlowApi.model_validate(request.query)
    try:
        async with asyncio.timeout(query.ms / 1000 + 5), asyncio.TaskGroup() as group:
            calls = [group.create_task(call(request, n, query.ms)) for n in range(query.calls)]
    except TimeoutError as error:
        raise web.HTTPGatewayTimeout from error
    except ExceptionGroup as errors:
        if errors.split((ClientError, ValueError))[1]:
            raise  # a fault of our own
        raise web.HTTPBadGateway from errors.exceptions[0]
    return json_response({"results": [call.result() for call in calls]})


async def call(request: web.Request, number: int, ms: int) -> dict[str, object]:
    request_id = request.headers.get("X-Request-Id")
    headers = {"X-Request-Id": request_id} if request_id else None
    params = {"call": number, "ms": ms}
    async with request.app[UPSTREAM].get(
        str(settings.SLOW_API_URL), params=params, headers=headers, allow_redirects=False
    ) as reply:
        if reply.status == 200 and isinstance(result := orjson.loads(await reply.read()), dict):
            return result
        raise ValueError(f"{reply.status}, no JSON object")
