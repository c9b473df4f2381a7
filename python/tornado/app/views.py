import asyncio
from contextlib import suppress

import tornado
from gridfs import NoFile
from motor.motor_tornado import MotorGridFSBucket

from app import settings
from app.databases import AGENTS
from app.problems import BaseHandler


class IndexHandler(BaseHandler):
    def get(self) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.write("Hello, World!")


class HelloHandler(BaseHandler):
    def get(self) -> None:
        self.write_json({"message": "Hello, World!"})


class MongoHandler(BaseHandler):
    async def get(self) -> None:
        slug = self.get_argument("doc", "small", strip=False)
        if slug not in ("small", "big"):
            raise tornado.web.HTTPError(400, "doc must be small or big")
        if not (article := await self.settings["mongodb"].articles.find_one({"slug": slug})):
            raise tornado.web.HTTPError(404)
        self.write_json(article | {"_id": str(article["_id"])})


class AgentsHandler(BaseHandler):
    async def get(self) -> None:
        self.write_json([dict(row) for row in await self.settings["postgresql"].fetch(AGENTS)])


class FilesHandler(BaseHandler, tornado.web.StaticFileHandler):
    """Serves files, with problem details for those that are missing."""


class GridFSHandler(BaseHandler):
    async def get(self, name: str) -> None:
        bucket = MotorGridFSBucket(self.settings["mongodb"])
        try:
            file = await bucket.open_download_stream_by_name(name)
        except NoFile as error:
            raise tornado.web.HTTPError(404) from error
        self.set_header("Content-Type", file.metadata["contentType"])
        self.set_header("Content-Length", file.length)
        with suppress(tornado.iostream.StreamClosedError):
            async for chunk in file:
                self.write(chunk)
                await self.flush()


class SleepHandler(BaseHandler):
    async def get(self) -> None:
        ms = integer(self, "ms", default=1000, low=0, high=30000)
        await asyncio.sleep(ms / 1000)
        self.write_json({"slept_ms": ms})


class SlowApiHandler(BaseHandler):
    async def get(self) -> None:
        calls = integer(self, "calls", default=10, low=1, high=50)
        ms = integer(self, "ms", default=1000, low=0, high=5000)
        results = await asyncio.gather(*(self.call(number, ms) for number in range(calls)))
        self.write_json({"results": results})

    async def call(self, number: int, ms: int) -> dict[str, object]:
        url = tornado.httputil.url_concat(settings.SLOW_API_URL, {"call": number, "ms": ms})
        request_id = self.request.headers.get("X-Request-Id")
        headers = {"X-Request-Id": request_id} if request_id else None
        with suppress(tornado.httpclient.HTTPClientError, OSError, ValueError):
            response = await tornado.httpclient.AsyncHTTPClient().fetch(
                url, headers=headers, request_timeout=ms / 1000 + 5, follow_redirects=False
            )
            result = tornado.escape.json_decode(response.body)
            if response.code == 200 and isinstance(result, dict):
                return result
        raise tornado.web.HTTPError(502)


def integer(handler: BaseHandler, name: str, *, default: int, low: int, high: int) -> int:
    with suppress(ValueError):
        value = int(handler.get_argument(name, str(default)))
        if low <= value <= high:
            return value
    raise tornado.web.HTTPError(400, f"{name} must be an integer from {low} to {high}")
