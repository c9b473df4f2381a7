import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from aiohttp import ClientError
from anyio import CancelScope
from bson import ObjectId
from gridfs import AsyncGridFSBucket, AsyncGridOut, NoFile
from litestar import Response, get, post
from litestar.background_tasks import BackgroundTask
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import FromPath, FromQuery, HeaderParameter, JSONBody, QueryParameter
from litestar.response import Stream
from msgspec import Meta, Struct

from app.databases import AGENTS, AppState, fetch
from app.problems import problems
from app.settings import settings


class NewNote(Struct):
    title: Annotated[str, Meta(min_length=1, max_length=200)]
    text: Annotated[str, Meta(max_length=10_000)]


class Note(Struct):
    _id: str
    title: str
    text: str


@get("/index", responses=problems())
async def index() -> str:
    return "Hello, World!"


@get("/json", responses=problems())
async def hello() -> dict[str, str]:
    return {"message": "Hello, World!"}


@get("/mongo", responses=problems(400, 404, 503))
async def mongo(state: AppState, doc: FromQuery[Literal["small", "big"]] = "small") -> Any:
    if article := await state.mongodb.articles.find_one({"slug": doc}):
        return article | {"_id": str(article["_id"])}
    raise NotFoundException


@post("/notes", responses=problems(400, 503))
async def create_note(state: AppState, data: JSONBody[NewNote]) -> Response[Note]:
    result = await state.mongodb.notes.insert_one({"title": data.title, "text": data.text})
    note = Note(str(result.inserted_id), data.title, data.text)
    return Response(note, headers={"Location": f"/notes/{note._id}"})


@get("/notes/{_id:str}", responses=problems(400, 404, 503))
async def read_note(state: AppState, _id: FromPath[str]) -> Note:
    if ObjectId.is_valid(_id) and (note := await state.mongodb.notes.find_one(ObjectId(_id))):
        return Note(str(note["_id"]), note["title"], note["text"])
    raise NotFoundException


@get("/agents", responses=problems(503))
async def agents(state: AppState) -> list[dict[str, str | None]]:
    return await fetch(state.postgresql, AGENTS)


@get("/gridfs/{name:str}", media_type="*/*", responses=problems(400, 404, 503))
async def gridfs(state: AppState, name: FromPath[str]) -> Stream:
    try:
        file = await AsyncGridFSBucket(state.mongodb).open_download_stream_by_name(name)
    except NoFile as error:
        raise NotFoundException from error
    content_type = (file.metadata or {}).get("contentType", "application/octet-stream")
    headers = {"Content-Type": content_type, "Content-Length": str(file.length)}
    content = chunks(file, await file.readchunk())  # a fault here has problem details
    return Stream(content, headers=headers, background=BackgroundTask(file.close))


async def chunks(file: AsyncGridOut, chunk: bytes) -> AsyncIterator[bytes]:
    while chunk:
        yield chunk
        await asyncio.sleep(0)  # a stream whose client has left is cancelled here,
        with CancelScope(shield=True):  # and not in a call of the driver
            chunk = await file.readchunk()


@get("/sleep", responses=problems(400))
async def sleep(ms: Annotated[int, QueryParameter(ge=0, le=30000)] = 1000) -> dict[str, int]:
    await asyncio.sleep(ms / 1000)
    return {"slept_ms": ms}


@get("/slow_api", responses=problems(400, 502, 504))
async def slow_api(
    state: AppState,
    calls: Annotated[int, QueryParameter(ge=1, le=50)] = 10,
    ms: Annotated[int, QueryParameter(ge=0, le=5000)] = 1000,
    x_request_id: Annotated[str | None, HeaderParameter(name="X-Request-Id")] = None,
) -> dict[str, list[dict[str, Any]]]:
    headers = {"X-Request-Id": x_request_id} if x_request_id else None

    upstream = state.upstream

    async def call(number: int) -> dict[str, Any]:
        url, sent = str(settings.SLOW_API_URL), {"call": number, "ms": ms}
        async with upstream.get(url, params=sent, headers=headers, allow_redirects=False) as reply:
            if reply.status == 200 and isinstance(result := await reply.json(), dict):
                return result
            raise ValueError(f"{reply.status}, no JSON object")

    try:
        async with asyncio.timeout(ms / 1000 + 5), asyncio.TaskGroup() as group:
            tasks = [group.create_task(call(number)) for number in range(calls)]
    except TimeoutError as error:
        raise HTTPException(status_code=504) from error
    except ExceptionGroup as errors:
        if errors.split((ClientError, ValueError))[1]:
            raise  # a fault of our own
        raise HTTPException(status_code=502) from errors.exceptions[0]
    return {"results": [task.result() for task in tasks]}


handlers = [index, hello, mongo, create_note, read_note, agents, gridfs, sleep, slow_api]
