import asyncio
from typing import Any, Literal, NoReturn

import orjson
import treq
from bson import ObjectId
from gridfs import AsyncGridFSBucket, AsyncGridOut, NoFile
from klein import Klein
from pydantic import BaseModel, Field
from twisted.internet import error, interfaces, reactor, task
from twisted.internet.defer import CancelledError, Deferred, FirstError, gatherResults
from twisted.web import client, static
from twisted.web.http_headers import Headers
from twisted.web.server import Request
from werkzeug.exceptions import (
    BadGateway,
    GatewayTimeout,
    NotFound,
    RequestEntityTooLarge,
    UnsupportedMediaType,
)
from werkzeug.http import parse_options_header
from zope.interface import implementer

from app.databases import AGENTS, as_deferred, fetch, mongodb, postgresql
from app.problems import problem
from app.settings import settings

BREAKS = (
    error.ConnectError,
    error.ConnectionClosed,
    error.DNSLookupError,
    client.ResponseFailed,
    ValueError,
)

app, nothing = Klein(), Klein()
app.handle_errors(problem)
app.url_map.merge_slashes = False  # no redirects
nothing.handle_errors(problem)
pool = client.HTTPConnectionPool(reactor)
pool.maxPersistentPerHost = 2000


class Doc(BaseModel):
    doc: Literal[b"small", b"big"] = b"small"


class Note(BaseModel):
    title: str = Field(min_length=1, max_length=200)
    text: str = Field(max_length=10_000)


class Sleep(BaseModel):
    ms: int = Field(1000, ge=0, le=30000)


class SlowApi(BaseModel):
    calls: int = Field(10, ge=1, le=50)
    ms: int = Field(1000, ge=0, le=5000)


def query(request: Request) -> dict[str, bytes]:
    return {name.decode(errors="replace"): values[0] for name, values in request.args.items()}


def json(request: Request, data: object) -> bytes:
    request.setHeader("Content-Type", "application/json")
    return orjson.dumps(data, default=str)  # str writes an ObjectId


@app.route("/index", methods=["GET"])
def index(request: Request) -> bytes:
    request.setHeader("Content-Type", "text/plain; charset=utf-8")
    return b"Hello, World!"


@app.route("/json", methods=["GET"])
def hello(request: Request) -> bytes:
    return json(request, {"message": "Hello, World!"})


@app.route("/mongo", methods=["GET"])
async def mongo(request: Request) -> bytes:
    slug = Doc.model_validate(query(request)).doc.decode()
    if article := await as_deferred(mongodb.articles.find_one({"slug": slug})):
        return json(request, article)
    raise NotFound


@app.route("/notes", methods=["POST"])
async def create_note(request: Any) -> bytes:
    if parse_options_header(request.getHeader("Content-Type"))[0] != "application/json":
        raise UnsupportedMediaType
    body = request.content.read(2**20 + 1)
    if len(body) > 2**20:
        raise RequestEntityTooLarge
    note = {"_id": ObjectId()} | Note.model_validate_json(body).model_dump()
    await as_deferred(mongodb.notes.insert_one(note))
    request.setResponseCode(201)
    request.setHeader("Location", app.url_for(request, "read_note", {"note_id": str(note["_id"])}))
    return json(request, note)


@app.route("/notes/<note_id>", methods=["GET"])
async def read_note(request: Request, note_id: str) -> bytes:
    if ObjectId.is_valid(note_id):
        if note := await as_deferred(mongodb.notes.find_one(ObjectId(note_id))):
            return json(request, note)
    raise NotFound


@app.route("/agents", methods=["GET"])
async def agents(request: Request) -> bytes:
    return json(request, await as_deferred(fetch(postgresql, AGENTS)))


class Files(static.File):
    childNotFound: Any = nothing.resource()

    def directoryListing(self) -> Any:
        return self.childNotFound


@app.route("/files/", branch=True, methods=["GET"], strict_slashes=False)
def files(request: Request) -> Files:
    return Files(str(settings.FILES_DIR), defaultType="application/octet-stream")


@app.route("/gridfs/<name>", methods=["GET"])
async def gridfs(request: Request, name: str) -> None:
    try:
        file = await as_deferred(AsyncGridFSBucket(mongodb).open_download_stream_by_name(name))
    except NoFile as error:
        raise NotFound from error
    content_type = (file.metadata or {}).get("contentType", "application/octet-stream")
    request.setHeader("Content-Type", content_type)
    request.setHeader("Content-Length", str(file.length))
    await as_deferred(send(file, request))


@implementer(interfaces.IPushProducer)
class Pace(asyncio.Event):
    """Set while the client can take more."""

    pauseProducing = asyncio.Event.clear
    resumeProducing = stopProducing = asyncio.Event.set


async def send(file: AsyncGridOut, request: Request) -> None:
    request.registerProducer(pace := Pace(), True)
    pace.set()
    try:
        async with file:
            while chunk := await file.readchunk():
                request.write(chunk)
                await pace.wait()
    finally:
        if request.channel:  # the client is there
            request.unregisterProducer()


@app.route("/sleep", methods=["GET"])
async def sleep(request: Request) -> bytes:
    ms = Sleep.model_validate(query(request)).ms
    await task.deferLater(reactor, ms / 1000)
    return json(request, {"slept_ms": ms})


@app.route("/slow_api", methods=["GET"])
async def slow_api(request: Request) -> bytes:
    wanted = SlowApi.model_validate(query(request))
    calls = [Deferred.fromCoroutine(call(request, n, wanted.ms)) for n in range(wanted.calls)]
    gathered = gatherResults(calls, consumeErrors=True)
    try:
        results = await gathered.addTimeout(wanted.ms / 1000 + 5, reactor, late)
    except FirstError as first:
        for one in calls:
            one.cancel()
        if not request.channel:  # the client has left
            raise CancelledError from first
        if first.subFailure.check(*BREAKS):
            raise BadGateway from first.subFailure.value
        first.subFailure.raiseException()  # a fault of our own
    return json(request, {"results": results})


async def call(request: Request, number: int, ms: int) -> dict[str, Any]:
    url, params = str(settings.SLOW_API_URL), {"call": str(number), "ms": str(ms)}
    headers = Headers({"X-Request-Id": request.requestHeaders.getRawHeaders("X-Request-Id", [])})
    reply = await treq.get(url, params=params, headers=headers, pool=pool, allow_redirects=False)
    body = await reply.content()  # of an error, too: it frees the connection
    if reply.code == 200 and isinstance(result := orjson.loads(body), dict):
        return result
    raise ValueError(f"{reply.code}, no JSON object")


def late(result: object, seconds: float) -> NoReturn:
    raise GatewayTimeout from TimeoutError(f"{seconds} s")
