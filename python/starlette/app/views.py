import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

from aiohttp import ClientError
from anyio import CancelScope
from bson import ObjectId
from gridfs import AsyncGridFSBucket, AsyncGridOut, NoFile
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse

from app.databases import AGENTS, State, fetch
from app.settings import settings


class Article(BaseModel):
    doc: Literal["small", "big"] = "small"


class Note(BaseModel):
    title: str = Field(min_length=1, max_length=200)
    text: str = Field(max_length=10_000)


class Sleep(BaseModel):
    ms: int = Field(1000, ge=0, le=30000)


class SlowApi(BaseModel):
    calls: int = Field(10, ge=1, le=50)
    ms: int = Field(1000, ge=0, le=5000)


async def index(request: Request[State]) -> PlainTextResponse:
    return PlainTextResponse("Hello, World!")


async def hello(request: Request[State]) -> JSONResponse:
    return JSONResponse({"message": "Hello, World!"})


async def mongo(request: Request[State]) -> JSONResponse:
    query = Article.model_validate(request.query_params)
    if article := await request.state["mongodb"].articles.find_one({"slug": query.doc}):
        return JSONResponse(article | {"_id": str(article["_id"])})
    raise HTTPException(404)


async def create_note(request: Request[State]) -> JSONResponse:
    note = Note.model_validate_json(await request.body()).model_dump()
    result = await request.state["mongodb"].notes.insert_one(note.copy())
    note_id = str(result.inserted_id)
    headers = {"Location": request.app.url_path_for("read_note", note_id=note_id)}
    return JSONResponse({"_id": note_id} | note, 201, headers)


async def read_note(request: Request[State]) -> JSONResponse:
    note_id = request.path_params["note_id"]
    if ObjectId.is_valid(note_id):
        if note := await request.state["mongodb"].notes.find_one(ObjectId(note_id)):
            return JSONResponse(note | {"_id": str(note["_id"])})
    raise HTTPException(404)


async def agents(request: Request[State]) -> JSONResponse:
    return JSONResponse(await fetch(request.state["postgresql"], AGENTS))


async def gridfs(request: Request[State]) -> StreamingResponse:
    bucket = AsyncGridFSBucket(request.state["mongodb"])
    try:
        file = await bucket.open_download_stream_by_name(request.path_params["name"])
    except NoFile as error:
        raise HTTPException(404) from error
    content_type = (file.metadata or {}).get("contentType", "application/octet-stream")
    headers = {"Content-Type": content_type, "Content-Length": str(file.length)}
    content = chunks(file, await file.readchunk())  # a fault here has problem details
    return StreamingResponse(content, headers=headers, background=BackgroundTask(file.close))


async def chunks(file: AsyncGridOut, chunk: bytes) -> AsyncIterator[bytes]:
    while chunk:
        yield chunk
        await asyncio.sleep(0)  # a stream whose client has left is cancelled here,
        with CancelScope(shield=True):  # and not in a call of the driver
            chunk = await file.readchunk()


async def sleep(request: Request[State]) -> JSONResponse:
    query = Sleep.model_validate(request.query_params)
    await asyncio.sleep(query.ms / 1000)
    return JSONResponse({"slept_ms": query.ms})


async def slow_api(request: Request[State]) -> JSONResponse:
    query = SlowApi.model_validate(request.query_params)
    request_id = request.headers.get("X-Request-Id")
    headers = {"X-Request-Id": request_id} if request_id else None
    upstream = request.state["upstream"]

    async def call(number: int) -> dict[str, Any]:
        url, sent = str(settings.SLOW_API_URL), {"call": number, "ms": query.ms}
        async with upstream.get(url, params=sent, headers=headers, allow_redirects=False) as reply:
            if reply.status == 200 and isinstance(result := await reply.json(), dict):
                return result
            raise ValueError(f"{reply.status}, no JSON object")

    try:
        async with asyncio.timeout(query.ms / 1000 + 5), asyncio.TaskGroup() as group:
            tasks = [group.create_task(call(number)) for number in range(query.calls)]
    except TimeoutError as error:
        raise HTTPException(504) from error
    except ExceptionGroup as errors:
        if errors.split((ClientError, ValueError))[1]:
            raise  # a fault of our own
        raise HTTPException(502) from errors.exceptions[0]
    return JSONResponse({"results": [task.result() for task in tasks]})
