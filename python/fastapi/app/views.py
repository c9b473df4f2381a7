import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from aiohttp import ClientError
from anyio import CancelScope
from bson import ObjectId
from fastapi import APIRouter, Depends, Header, HTTPException, Query, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from gridfs import AsyncGridFSBucket, AsyncGridOut, NoFile
from pydantic import BaseModel, BeforeValidator, Field

from app.databases import AGENTS, MongoDB, PostgreSQL, Upstream, fetch
from app.problems import problems
from app.settings import settings

router = APIRouter(responses={"4XX": {"content": {"*/*": {}}}, **problems(500)})


class Document(BaseModel, extra="allow"):
    id: Annotated[str, BeforeValidator(str), Field(alias="_id")]


class NewNote(BaseModel):
    title: str = Field(min_length=1, max_length=200)
    text: str = Field(max_length=10_000)


class Note(NewNote, Document):
    pass


@router.get("/index", response_class=PlainTextResponse)
async def index() -> str:
    return "Hello, World!"


@router.get("/json")
async def hello() -> dict[str, str]:
    return {"message": "Hello, World!"}


@router.get("/mongo", response_model=Document, responses=problems(400, 404, 503))
async def mongo(mongodb: MongoDB, doc: Literal["small", "big"] = "small") -> Any:
    if article := await mongodb.articles.find_one({"slug": doc}):
        return article
    raise HTTPException(404)


@router.post("/notes", status_code=201, responses=problems(400, 422, 503))
async def create_note(mongodb: MongoDB, note: NewNote, response: Response) -> Note:
    document = note.model_dump()
    await mongodb.notes.insert_one(document)  # adds _id
    response.headers["Location"] = router.url_path_for("read_note", _id=str(document["_id"]))
    return Note(**document)


@router.get("/notes/{_id}", responses=problems(404, 503))
async def read_note(mongodb: MongoDB, _id: str) -> Note:
    if ObjectId.is_valid(_id) and (note := await mongodb.notes.find_one(ObjectId(_id))):
        return Note(**note)
    raise HTTPException(404)


@router.get("/agents", responses=problems(503))
async def agents(postgresql: PostgreSQL) -> list[dict[str, str | None]]:
    return await fetch(postgresql, AGENTS)


async def stored(mongodb: MongoDB, name: str, response: Response) -> AsyncIterator[AsyncGridOut]:
    try:
        file = await AsyncGridFSBucket(mongodb).open_download_stream_by_name(name)
    except NoFile as error:
        raise HTTPException(404) from error
    content_type = (file.metadata or {}).get("contentType", "application/octet-stream")
    response.headers.update({"Content-Type": content_type, "Content-Length": str(file.length)})
    async with file:
        yield file


@router.get("/gridfs/{name}", response_class=StreamingResponse, responses=problems(404, 503))
async def gridfs(file: Annotated[AsyncGridOut, Depends(stored)]) -> AsyncIterator[bytes]:
    while True:
        with CancelScope(shield=True):  # a client that leaves cancels no call of the driver
            chunk = await file.readchunk()
        if not chunk:
            return
        yield chunk


@router.get("/sleep", responses=problems(400))
async def sleep(ms: Annotated[int, Query(ge=0, le=30000)] = 1000) -> dict[str, int]:
    await asyncio.sleep(ms / 1000)
    return {"slept_ms": ms}


@router.get("/slow_api", responses=problems(400, 502, 504))
async def slow_api(
    upstream: Upstream,
    calls: Annotated[int, Query(ge=1, le=50)] = 10,
    ms: Annotated[int, Query(ge=0, le=5000)] = 1000,
    x_request_id: Annotated[str | None, Header()] = None,
) -> dict[str, list[dict[str, Any]]]:
    headers = {"X-Request-Id": x_request_id} if x_request_id else None

    async def call(number: int) -> dict[str, Any]:
        url, query = str(settings.SLOW_API_URL), {"call": number, "ms": ms}
        async with upstream.get(url, params=query, headers=headers, allow_redirects=False) as reply:
            if reply.status == 200 and isinstance(result := await reply.json(), dict):
                return result
            raise ValueError(f"{reply.status}, no JSON object")

    try:
        async with asyncio.timeout(ms / 1000 + 5), asyncio.TaskGroup() as group:
            tasks = [group.create_task(call(number)) for number in range(calls)]
    except TimeoutError as error:
        raise HTTPException(504) from error
    except ExceptionGroup as errors:
        if errors.split((ClientError, ValueError))[1]:
            raise  # a fault of our own
        raise HTTPException(502) from errors.exceptions[0]
    return {"results": [task.result() for task in tasks]}
