import asyncio
from contextlib import suppress
from typing import Annotated, Any, Literal

import httpx2
from fastapi import APIRouter, Header, HTTPException, Query, Request
from fastapi.responses import PlainTextResponse, StreamingResponse
from gridfs import AsyncGridFSBucket, AsyncGridOut, NoFile

from app.databases import AGENTS
from app.settings import settings

router = APIRouter()


@router.get("/index", response_class=PlainTextResponse)
async def index() -> str:
    return "Hello, World!"


@router.get("/json")
async def hello() -> dict[str, str]:
    return {"message": "Hello, World!"}


@router.get("/mongo")
async def mongo(request: Request, doc: Literal["small", "big"] = "small") -> dict[str, Any]:
    if article := await request.state.mongodb.articles.find_one({"slug": doc}):
        return article | {"_id": str(article["_id"])}
    raise HTTPException(404)


@router.get("/agents")
async def agents(request: Request) -> list[dict[str, str | None]]:
    return [dict(row) for row in await request.state.postgresql.fetch(AGENTS)]


@router.get("/gridfs/{name}")
async def gridfs(request: Request, name: str) -> StreamingResponse:
    try:
        file = await AsyncGridFSBucket(request.state.mongodb).open_download_stream_by_name(name)
    except NoFile as error:
        raise HTTPException(404) from error
    headers = {"Content-Type": file.metadata["contentType"], "Content-Length": str(file.length)}
    return StreamingResponse(chunks(file), headers=headers)


async def chunks(file: AsyncGridOut):
    while chunk := await file.readchunk():
        yield chunk


@router.get("/sleep")
async def sleep(ms: Annotated[int, Query(ge=0, le=30000)] = 1000) -> dict[str, int]:
    await asyncio.sleep(ms / 1000)
    return {"slept_ms": ms}


@router.get("/slow_api")
async def slow_api(
    request: Request,
    calls: Annotated[int, Query(ge=1, le=50)] = 10,
    ms: Annotated[int, Query(ge=0, le=5000)] = 1000,
    x_request_id: Annotated[str | None, Header()] = None,
) -> dict[str, list[Any]]:
    headers = {"X-Request-Id": x_request_id} if x_request_id else None

    async def call(number: int) -> dict[str, Any]:
        with suppress(httpx2.HTTPError, ValueError):
            response = await request.state.upstream.get(
                str(settings.slow_api_url), params={"call": number, "ms": ms}, headers=headers
            )
            if response.status_code == 200 and isinstance(result := response.json(), dict):
                return result
        raise HTTPException(502)

    try:
        async with asyncio.timeout(ms / 1000 + 5), asyncio.TaskGroup() as group:
            tasks = [group.create_task(call(number)) for number in range(calls)]
    except TimeoutError as error:
        raise HTTPException(504) from error
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return {"results": [task.result() for task in tasks]}
