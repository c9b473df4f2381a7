from functools import partial
from typing import Any, Literal, NoReturn

import orjson
import treq
from bson import ObjectId
from gridfs import AsyncGridFSBucket, NoFile
from klein import Klein
from pydantic import BaseModel, Field
from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.internet.error import ConnectError, ConnectionClosed, DNSLookupError
from twisted.internet.task import deferLater
from twisted.python.failure import Failure
from twisted.web.client import RequestTransmissionFailed, ResponseFailed, readBody
from twisted.web.http_headers import Headers
from twisted.web.iweb import IRequest
from twisted.web.server import Request
from werkzeug.exceptions import BadGateway, GatewayTimeout, NotFound, RequestEntityTooLarge

from app.databases import AGENTS, Clients, as_deferred, fetch
from app.files import Files, send
from app.problems import problem
from app.settings import settings

LARGEST_BODY = 2**20
UPSTREAM_FAILED = (
    ConnectError,
    ConnectionClosed,
    DNSLookupError,
    RequestTransmissionFailed,
    ResponseFailed,
    ValueError,
)

# str writes an ObjectId
dumps = partial(orjson.dumps, default=str)


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


def json(request: IRequest, data: object) -> bytes:
    request.setHeader("Content-Type", "application/json")
    return dumps(data)


def query(request: IRequest) -> dict[str, str]:
    """The first value of each parameter."""
    return {
        name.decode(errors="replace"): values[0].decode(errors="replace")
        for name, values in request.args.items()
    }


class Views:
    app = Klein()

    def __init__(self, reactor: Any, clients: Clients) -> None:
        self.reactor = reactor
        self.clients = clients
        self.folder = Files(str(settings.FILES_DIR), defaultType="application/octet-stream")

    @app.handle_errors(Exception)
    def problem(self, request: Any, failure: Failure) -> bytes | Deferred[bytes]:
        return problem(request, failure)

    @app.route("/index", methods=["GET"])
    def index(self, request: IRequest) -> bytes:
        request.setHeader("Content-Type", "text/plain; charset=utf-8")
        return b"Hello, World!"

    @app.route("/json", methods=["GET"])
    def hello(self, request: IRequest) -> bytes:
        return json(request, {"message": "Hello, World!"})

    @app.route("/mongo", methods=["GET"])
    async def mongo(self, request: IRequest) -> bytes:
        slug = Doc.model_validate(query(request)).doc
        if article := await as_deferred(self.clients.mongodb.articles.find_one({"slug": slug})):
            return json(request, article)
        raise NotFound

    @app.route("/notes", methods=["POST"])
    async def create_note(self, request: IRequest) -> bytes:
        body = request.content.read(LARGEST_BODY + 1)
        if len(body) > LARGEST_BODY:
            raise RequestEntityTooLarge
        document = {"_id": ObjectId()} | Note.model_validate_json(body).model_dump()
        await as_deferred(self.clients.mongodb.notes.insert_one(document))
        location = self.app.url_for(request, "read_note", {"note_id": str(document["_id"])})
        request.setResponseCode(201)
        request.setHeader("Location", location)
        return json(request, document)

    @app.route("/notes/<note_id>", methods=["GET"])
    async def read_note(self, request: IRequest, note_id: str) -> bytes:
        if ObjectId.is_valid(note_id):
            if note := await as_deferred(self.clients.mongodb.notes.find_one(ObjectId(note_id))):
                return json(request, note)
        raise NotFound

    @app.route("/agents", methods=["GET"])
    async def agents(self, request: IRequest) -> bytes:
        return json(request, await as_deferred(fetch(self.clients.postgresql, AGENTS)))

    @app.route("/files/", branch=True, methods=["GET"], strict_slashes=False)
    def files(self, request: IRequest) -> Files:
        return self.folder

    @app.route("/gridfs/<name>", methods=["GET"])
    async def gridfs(self, request: Request, name: str) -> None:
        bucket = AsyncGridFSBucket(self.clients.mongodb)
        try:
            file = await as_deferred(bucket.open_download_stream_by_name(name))
        except NoFile as error:
            raise NotFound from error
        content_type = (file.metadata or {}).get("contentType", "application/octet-stream")
        request.setHeader("Content-Type", content_type)
        request.setHeader("Content-Length", str(file.length))
        await send(file, request)

    @app.route("/sleep", methods=["GET"])
    async def sleep(self, request: IRequest) -> bytes:
        ms = Sleep.model_validate(query(request)).ms
        await deferLater(self.reactor, ms / 1000)
        return json(request, {"slept_ms": ms})

    @app.route("/slow_api", methods=["GET"])
    async def slow_api(self, request: IRequest) -> bytes:
        wanted = SlowApi.model_validate(query(request))
        calls = [
            Deferred.fromCoroutine(self.call(request, number, wanted.ms))
            for number in range(wanted.calls)
        ]
        gathered = gatherResults(calls, consumeErrors=True)
        try:
            results = await gathered.addTimeout(wanted.ms / 1000 + 5, self.reactor, late)
        except FirstError as first:
            for one in calls:
                one.cancel()
            if first.subFailure.check(*UPSTREAM_FAILED):
                raise BadGateway from first.subFailure.value
            first.subFailure.raiseException()  # a fault of our own
        return json(request, {"results": results})

    async def call(self, request: IRequest, number: int, ms: int) -> dict[str, Any]:
        request_id = request.requestHeaders.getRawHeaders("X-Request-Id", [])
        response = await treq.get(
            str(settings.SLOW_API_URL),
            agent=self.clients.upstream,
            params={"call": str(number), "ms": str(ms)},
            headers=Headers({"X-Request-Id": request_id}),
            allow_redirects=False,
        )
        body = await readBody(response)  # of an error, too: the connection is free after it
        result = orjson.loads(body) if response.code == 200 else None
        if isinstance(result, dict):
            return result
        raise ValueError(f"{response.code}, no JSON object")


def late(result: object, seconds: float) -> NoReturn:
    raise GatewayTimeout from TimeoutError(f"{seconds} s")
