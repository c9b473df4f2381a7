import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Literal

import orjson
import tornado
from bson import ObjectId
from gridfs import NoFile
from motor.motor_tornado import MotorGridFSBucket
from pydantic import BaseModel, Field

from app.databases import AGENTS, fetch
from app.problems import BaseHandler
from app.settings import settings

FAULTS = (tornado.httpclient.HTTPClientError, ValueError)  # of the upstream


class Doc(BaseModel):
    doc: Literal["small", "big"] = "small"


class Note(BaseModel):
    title: str = Field(min_length=1, max_length=200)
    text: str = Field(max_length=10_000)


class Sleep(BaseModel):
    ms: int = Field(1000, ge=0, le=30000)


class SlowApi(BaseModel):
    calls: int = Field(10, ge=1, le=50)
    ms: int = Field(1000, ge=0, le=5000)


class IndexHandler(BaseHandler):
    def get(self) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.write("Hello, World!")


class HelloHandler(BaseHandler):
    def get(self) -> None:
        self.write_json({"message": "Hello, World!"})


class MongoHandler(BaseHandler):
    async def get(self) -> None:
        query = Doc.model_validate(self.query)
        article = await self.settings["mongodb"].articles.find_one({"slug": query.doc})
        if not article:
            raise tornado.web.HTTPError(404)
        self.write_json(article)


class NotesHandler(BaseHandler):
    async def post(self) -> None:
        media_type = self.request.headers.get("Content-Type", "").partition(";")[0]
        if media_type.strip().lower() != "application/json":
            raise tornado.web.HTTPError(415)
        note = Note.model_validate_json(self.request.body)
        document = {"_id": ObjectId()} | note.model_dump()
        await self.settings["mongodb"].notes.insert_one(document)
        self.set_status(201)
        self.set_header("Location", self.reverse_url("note", document["_id"]))
        self.write_json(document)


class NoteHandler(BaseHandler):
    async def get(self, note_id: str) -> None:
        note = await self.settings["mongodb"].notes.find_one(ObjectId(note_id))
        if not note:
            raise tornado.web.HTTPError(404)
        self.write_json(note)


class AgentsHandler(BaseHandler):
    async def get(self) -> None:
        self.write_json(await fetch(self.settings["postgresql"], AGENTS))


class FilesHandler(BaseHandler, tornado.web.StaticFileHandler):
    """Serves files, with problem details for those that are missing."""


class GridFSHandler(BaseHandler):
    async def get(self, name: str) -> None:
        bucket = MotorGridFSBucket(self.settings["mongodb"])
        try:
            file = await bucket.open_download_stream_by_name(name)
        except NoFile as error:
            raise tornado.web.HTTPError(404) from error
        content_type = (file.metadata or {}).get("contentType", "application/octet-stream")
        self.set_header("Content-Type", content_type)
        self.set_header("Content-Length", file.length)
        try:
            with suppress(tornado.iostream.StreamClosedError):
                async for chunk in file:
                    self.write(chunk)
                    await self.flush()
        finally:
            await asyncio.to_thread(file.close)  # Motor passes on PyMongo's, which may block


class SleepHandler(BaseHandler):
    async def get(self) -> None:
        query = Sleep.model_validate(self.query)
        await asyncio.sleep(query.ms / 1000)
        self.write_json({"slept_ms": query.ms})


class SlowApiHandler(BaseHandler):
    async def get(self) -> None:
        query = SlowApi.model_validate(self.query)
        calls = asyncio.gather(*(self.call(n, query.ms) for n in range(query.calls)))
        deadline = timedelta(milliseconds=query.ms + 5000)
        try:
            results = await tornado.gen.with_timeout(deadline, calls, quiet_exceptions=FAULTS)
        except TimeoutError as error:
            raise tornado.web.HTTPError(504, "%r", error) from error
        except FAULTS as error:
            raise tornado.web.HTTPError(502, "%r", str(error)) from error
        self.write_json({"results": results})

    async def call(self, number: int, ms: int) -> dict[str, object]:
        request_id = self.request.headers.get("X-Request-Id")
        headers = {"X-Request-Id": request_id} if request_id else None
        params = {"call": str(number), "ms": str(ms)}
        url = tornado.httputil.url_concat(str(settings.SLOW_API_URL), params)
        reply = await self.settings["upstream"].fetch(url, headers=headers, follow_redirects=False)
        if reply.code == 200 and isinstance(result := orjson.loads(reply.body), dict):
            return result
        raise ValueError(f"{reply.code}, no JSON object")
