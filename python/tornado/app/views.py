import asyncio
import re
from typing import Any

import orjson
import pycurl
from tornado.curl_httpclient import CurlError
from tornado.httpclient import AsyncHTTPClient, HTTPClientError
from tornado.httputil import url_concat
from tornado.web import HTTPError

from app.db import database_operation, find_agents
from app.handlers import BadRequest, Handler

DIGITS = re.compile(rb"[0-9]{1,5}")


class Index(Handler):
    def get(self) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.write("Hello, World!")


class Hello(Handler):
    def get(self) -> None:
        self.write_json({"message": "Hello, World!"})


class Mongo(Handler):
    async def get(self) -> None:
        slugs = self.request.query_arguments.get("doc", [b"small"])
        if slugs not in ([b"small"], [b"big"]):
            raise BadRequest("doc must be small or big")
        async with database_operation():
            article = await self.settings["mongodb"].articles.find_one({"slug": slugs[0].decode()})
        if article is None:
            raise HTTPError(404)
        self.write_json(article)


class Agents(Handler):
    async def get(self) -> None:
        self.write_json(await find_agents(self.settings["postgresql"]))


class Parameters(Handler):
    def integer(self, name: str, default: int, low: int, high: int) -> int:
        values = self.request.query_arguments.get(name, [])
        if not values:
            return default
        if len(values) == 1 and DIGITS.fullmatch(values[0]) and low <= int(values[0]) <= high:
            return int(values[0])
        raise BadRequest(f"{name} must be an integer from {low} to {high}")


class Sleep(Parameters):
    async def get(self) -> None:
        ms = self.integer("ms", default=1000, low=0, high=30000)
        await asyncio.sleep(ms / 1000)
        self.write_json({"slept_ms": ms})


class SlowApi(Parameters):
    async def get(self) -> None:
        calls = self.integer("calls", default=10, low=1, high=50)
        ms = self.integer("ms", default=1000, low=0, high=5000)
        results = await asyncio.gather(*(self.call(number, ms) for number in range(calls)))
        self.write_json({"results": results})

    async def call(self, number: int, ms: int) -> dict[str, Any]:
        request_id = self.request.headers.get("X-Request-Id")
        try:
            response = await AsyncHTTPClient().fetch(
                url_concat(self.settings["slow_api_url"], {"call": number, "ms": ms}),
                headers={"X-Request-Id": request_id} if request_id else None,
                follow_redirects=False,
                request_timeout=ms / 1000 + 5,
            )
            result = orjson.loads(response.body)
        except (HTTPClientError, ValueError) as error:
            late = isinstance(error, CurlError) and error.errno == pycurl.E_OPERATION_TIMEDOUT
            raise HTTPError(504 if late else 502, "%r", error) from error
        if response.code != 200 or not isinstance(result, dict):
            raise HTTPError(502, "the upstream answered %s %r", response.code, result)
        return result
