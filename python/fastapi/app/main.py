import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

import aiohttp
import asyncpg
import orjson
from fastapi import FastAPI, Header, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, StreamingResponse
from pymongo import AsyncMongoClient
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.staticfiles import NotModifiedResponse

from app import db
from app.files import Files
from app.parameters import CallMs, Calls, FileName, SleepMs, Slug
from app.responses import ORJSONResponse, http_problem, parameter_problem, server_problem
from app.settings import Settings

settings = Settings.from_environment()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    mongodb = AsyncMongoClient(
        str(settings.mongodb_url),
        maxPoolSize=settings.mongodb_pool_size,
        connectTimeoutMS=2000,
    )
    postgresql = await asyncpg.create_pool(
        str(settings.database_url),
        min_size=0,  # connect at the first query, so that the server starts without the database
        max_size=settings.database_pool_size,
        max_inactive_connection_lifetime=0,  # or each query would start and stop a timer
        reset=db.no_reset,
    )
    connector = aiohttp.TCPConnector(limit=0)  # all calls of a request are in flight together
    async with aiohttp.ClientSession(connector=connector) as upstream:
        yield {
            "mongodb": db.MongoDB(
                mongodb.get_default_database("refservers"), settings.mongodb_pool_size
            ),
            "postgresql": postgresql,
            "upstream": upstream,
        }
    # no longer than a second: a database that is silent would never let go
    await asyncio.wait(map(asyncio.create_task, (mongodb.close(), postgresql.close())), timeout=1)


app = FastAPI(
    lifespan=lifespan,
    exception_handlers={
        RequestValidationError: parameter_problem,
        StarletteHTTPException: http_problem,
        Exception: server_problem,
    },
    openapi_url=None,  # and with it /docs and /redoc
    redirect_slashes=False,
)
route = partial(app.api_route, methods=["GET", "HEAD"])
files = Files(directory=settings.files_dir)


@route("/index")
async def index() -> Response:
    return PlainTextResponse("Hello, World!")


@route("/json")
async def hello() -> Response:
    return ORJSONResponse({"message": "Hello, World!"})


@route("/mongo")
async def mongo(request: Request, slug: Slug = "small") -> Response:
    return ORJSONResponse(await db.find_article(request.state.mongodb, slug))


@route("/agents")
async def agents(request: Request) -> Response:
    return ORJSONResponse(await db.find_agents(request.state.postgresql))


@route("/files/{name}")
async def file(name: FileName, request: Request) -> Response:
    return await files.get_response(name, request.scope)


@route("/gridfs/{name}")
async def gridfs(name: FileName, request: Request) -> Response:
    mongodb = request.state.mongodb
    stored = await db.find_file(mongodb, name)
    response = StreamingResponse(
        db.read_chunks(mongodb, stored._id),
        headers={
            "Content-Length": str(stored.length),
            "Content-Type": stored.metadata["contentType"],
            "ETag": f'"{stored._id}"',
        },
    )
    if files.is_not_modified(response.headers, request.headers):
        return NotModifiedResponse(response.headers)
    if request.method == "HEAD":
        return Response(headers=response.headers)
    return response


@route("/sleep")
async def sleep(ms: SleepMs = 1000) -> Response:
    await asyncio.sleep(ms / 1000)
    return ORJSONResponse({"slept_ms": ms})


@route("/slow_api")
async def slow_api(
    request: Request,
    calls: Calls = 10,
    ms: CallMs = 1000,
    x_request_id: Annotated[str | None, Header()] = None,
) -> Response:
    get = partial(
        request.state.upstream.get,
        str(settings.slow_api_url),
        headers={"X-Request-Id": x_request_id} if x_request_id else None,
        allow_redirects=False,
        timeout=aiohttp.ClientTimeout(total=ms / 1000 + 5),
    )

    async def call(number: int) -> dict[str, Any]:
        async with get(params={"call": number, "ms": ms}) as response:
            result = orjson.loads(await response.read())
        if response.status != 200 or not isinstance(result, dict):
            raise ValueError(f"the upstream answered {response.status} {result!r}")
        return result

    try:
        results = await asyncio.gather(*map(call, range(calls)))
    except TimeoutError as error:
        raise HTTPException(504) from error
    except (aiohttp.ClientError, ValueError) as error:
        raise HTTPException(502) from error
    return ORJSONResponse({"results": results})
