import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

import aiohttp
import asyncpg
import orjson
from fastapi import FastAPI, Header, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from pymongo import AsyncMongoClient
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.staticfiles import NotModifiedResponse

from app import database, files
from app.parameters import FileName, Slug, integer
from app.responses import ORJSONResponse, http_problem, server_problem
from app.settings import Settings

settings = Settings.from_environment()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    mongodb = AsyncMongoClient(
        str(settings.mongodb_url),
        maxPoolSize=settings.mongodb_pool_size,
        timeoutMS=int(database.TIMEOUT * 1000),
    )
    postgresql = await asyncpg.create_pool(
        str(settings.database_url), min_size=0, max_size=settings.database_pool_size
    )
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as upstream:
        yield {
            "mongodb": mongodb.get_default_database("refservers"),
            "postgresql": postgresql,
            "upstream": upstream,
        }
    # not longer than this: a database that hangs would not let go
    await asyncio.wait(map(asyncio.create_task, (mongodb.close(), postgresql.close())), timeout=1)


app = FastAPI(
    lifespan=lifespan,
    exception_handlers={StarletteHTTPException: http_problem, Exception: server_problem},
    openapi_url=None,
    redirect_slashes=False,
)
route = partial(app.api_route, methods=["GET", "HEAD"])
static = files.Files(directory=settings.files_dir)


@route("/index")
async def index() -> Response:
    return PlainTextResponse("Hello, World!")


@route("/json")
async def json() -> Response:
    return ORJSONResponse({"message": "Hello, World!"})


@route("/mongo")
async def mongo(slug: Slug, request: Request) -> Response:
    return ORJSONResponse(await database.find_article(request.state.mongodb, slug))


@route("/agents")
async def agents(request: Request) -> Response:
    return ORJSONResponse(await database.find_agents(request.state.postgresql))


@route("/files/{name}")
async def file(name: FileName, request: Request) -> Response:
    return await static.get_response(name, request.scope)


@route("/gridfs/{name}")
async def gridfs(name: FileName, request: Request) -> Response:
    stored = await database.find_file(request.state.mongodb, name)
    response = StreamingResponse(
        database.chunks(request.state.mongodb, stored),
        headers={
            "Content-Length": str(stored.length),
            "Content-Type": stored.metadata["contentType"],
            "ETag": f'"{stored._id}"',
        },
    )
    if static.is_not_modified(response.headers, request.headers):
        return NotModifiedResponse(response.headers)
    if request.method == "HEAD":
        return Response(headers=response.headers)
    return response


@route("/sleep")
async def sleep(ms: Annotated[int, integer("ms", 1000, 0, 30000)]) -> Response:
    await asyncio.sleep(ms / 1000)
    return ORJSONResponse({"slept_ms": ms})


@route("/slow_api")
async def slow_api(
    calls: Annotated[int, integer("calls", 10, 1, 50)],
    ms: Annotated[int, integer("ms", 1000, 0, 5000)],
    request: Request,
    x_request_id: Annotated[str | None, Header()] = None,
) -> Response:
    async def call(number: int) -> dict[str, Any]:
        async with request.state.upstream.get(
            str(settings.slow_api_url),
            params={"call": number, "ms": ms},
            headers={"X-Request-Id": x_request_id} if x_request_id else None,
            allow_redirects=False,
            timeout=timeout,
        ) as response:
            result = orjson.loads(await response.read())
        if response.status != 200 or not isinstance(result, dict):
            raise ValueError(f"the upstream answered {response.status} {result!r}")
        return result

    timeout = aiohttp.ClientTimeout(total=ms / 1000 + 5)
    try:
        results = await asyncio.gather(*(call(number) for number in range(calls)))
    except TimeoutError:
        raise HTTPException(504) from None
    except (aiohttp.ClientError, ValueError) as error:
        raise HTTPException(502) from error
    return ORJSONResponse({"results": results})
