import asyncio
import functools
from typing import Any

import aiohttp
import orjson
from django.conf import settings


class UpstreamError(Exception):
    pass


class UpstreamTimeout(Exception):
    pass


@functools.cache
def session() -> aiohttp.ClientSession:
    # no limit: all calls of a request are in flight together
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))


async def close() -> None:
    await session().close()


async def fetch_all(calls: int, ms: int, request_id: str | None) -> list[dict[str, Any]]:
    headers = {}
    if request_id:  # Django reads headers as Latin-1, aiohttp writes them as UTF-8
        headers["X-Request-Id"] = request_id.encode("latin-1").decode(errors="replace")
    try:
        async with asyncio.timeout(ms / 1000 + 5):
            return await asyncio.gather(*(fetch(call, ms, headers) for call in range(calls)))
    except TimeoutError as error:
        raise UpstreamTimeout from error
    except (aiohttp.ClientError, ValueError) as error:
        raise UpstreamError(repr(error)) from error


async def fetch(call: int, ms: int, headers: dict[str, str]) -> dict[str, Any]:
    async with session().get(
        settings.SLOW_API_URL,
        params={"call": call, "ms": ms},
        headers=headers,
        allow_redirects=False,
    ) as response:
        result = orjson.loads(await response.read())
    if response.status != 200 or not isinstance(result, dict):
        raise ValueError(f"the upstream answered {response.status} {result!r}")
    return result
