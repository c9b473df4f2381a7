import asyncio
from typing import Any

import orjson
import pycurl
from tornado.curl_httpclient import CurlError
from tornado.httpclient import AsyncHTTPClient, HTTPClientError
from tornado.httputil import url_concat
from tornado.web import HTTPError

from app.db import find_agents, find_article
from app.handlers import BadRequest, Handler


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
        article = await find_article(self.settings["articles"], slugs[0].decode())
        if article is None:
            raise HTTPError(404)
        self.write_json(article)


class Agents(Handler):
    async def get(self) -> None:
        self.write_json(await find_agents(self.settings["postgresql"]))


class Sleep(Handler):
    async def get(self) -> None:
        ms = self.integer("ms", default=1000, low=0, high=30000)
        await asyncio.sleep(ms / 1000)
        self.write_json({"slept_ms": ms})


class SlowApi(Handler):
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
