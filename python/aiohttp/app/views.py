import asyncio
import re
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from app.db import POSTGRESQL, SETTINGS, find_agents, find_article

DIGITS = re.compile(r"[0-9]{1,5}")
UPSTREAM = web.AppKey("upstream", aiohttp.ClientSession)


def json_response(data: Any) -> web.Response:
    return web.Response(body=orjson.dumps(data, default=str), content_type="application/json")


def integer(request: web.Request, name: str, default: int, low: int, high: int) -> int:
    values = request.query.getall(name, [])
    if not values:
        return default
    if len(values) == 1 and DIGITS.fullmatch(values[0]) and low <= int(values[0]) <= high:
        return int(values[0])
    raise web.HTTPBadRequest(text=f"{name} must be an integer from {low} to {high}")


async def index(request: web.Request) -> web.Response:
    return web.Response(text="Hello, World!")


async def hello(request: web.Request) -> web.Response:
    return json_response({"message": "Hello, World!"})


async def mongo(request: web.Request) -> web.Response:
    slugs = request.query.getall("doc", ["small"])
    if slugs not in (["small"], ["big"]):
        raise web.HTTPBadRequest(text="doc must be small or big")
    article = await find_article(request.app, slugs[0])
    if article is None:
        raise web.HTTPNotFound
    return json_response(article)


async def agents(request: web.Request) -> web.Response:
    return json_response(await find_agents(request.app[POSTGRESQL]))


async def sleep(request: web.Request) -> web.Response:
    ms = integer(request, "ms", default=1000, low=0, high=30000)
    await asyncio.sleep(ms / 1000)
    return json_response({"slept_ms": ms})


async def slow_api(request: web.Request) -> web.Response:
    calls = integer(request, "calls", default=10, low=1, high=50)
    ms = integer(request, "ms", default=1000, low=0, high=5000)
    try:
        async with asyncio.timeout(ms / 1000 + 5):
            results = await asyncio.gather(*(call(request, number, ms) for number in range(calls)))
    except TimeoutError:
        raise web.HTTPGatewayTimeout from None
    except (aiohttp.ClientError, ValueError) as error:
        raise web.HTTPBadGateway from error
    return json_response({"results": results})


async def call(request: web.Request, number: int, ms: int) -> dict[str, Any]:
    request_id = request.headers.get("X-Request-Id")
    async with request.app[UPSTREAM].get(
        request.app[SETTINGS].slow_api_url,
        params={"call": number, "ms": ms},
        headers={"X-Request-Id": request_id} if request_id else None,
        allow_redirects=False,
    ) as response:
        result = orjson.loads(await response.read())
    if response.status != 200 or not isinstance(result, dict):
        raise ValueError(f"the upstream answered {response.status} {result!r}")
    return result
