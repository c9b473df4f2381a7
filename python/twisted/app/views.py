from contextlib import suppress
from typing import Any

import orjson
import treq
from gridfs import AsyncGridFSBucket, NoFile
from klein import Klein, Response
from twisted.internet import reactor
from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.internet.task import deferLater
from twisted.web.resource import Resource
from twisted.web.server import Request
from twisted.web.static import File
from werkzeug.exceptions import BadGateway, BadRequest, NotFound

from app import settings
from app.databases import AGENTS, as_deferred, mongodb, postgresql
from app.problems import problem

app = Klein()
app.handle_errors(problem)


def json_response(data: object) -> Response:
    return Response(headers={"Content-Type": "application/json"}, body=orjson.dumps(data))


@app.route("/index")
def index(request: Request) -> Response:
    return Response(headers={"Content-Type": "text/plain; charset=utf-8"}, body="Hello, World!")


@app.route("/json")
def hello(request: Request) -> Response:
    return json_response({"message": "Hello, World!"})


@app.route("/mongo")
async def mongo(request: Request) -> Response:
    slug = request.args.get(b"doc", [b"small"])[0]
    if slug not in (b"small", b"big"):
        raise BadRequest("doc must be small or big")
    if article := await as_deferred(mongodb.articles.find_one({"slug": slug.decode()})):
        return json_response(article | {"_id": str(article["_id"])})
    raise NotFound


@app.route("/agents")
async def agents(request: Request) -> Response:
    rows = await as_deferred(postgresql.fetch(AGENTS))
    return json_response([dict(row) for row in rows])


class NotFoundResource(Resource):
    isLeaf = True

    def render(self, request: Request) -> bytes:
        raise NotFound


@app.route("/files/", branch=True)
def files(request: Request) -> File:
    folder = File(str(settings.FILES_DIR))
    folder.childNotFound = NotFoundResource()
    return folder


@app.route("/gridfs/<name>")
async def gridfs(request: Request, name: str) -> None:
    bucket = AsyncGridFSBucket(mongodb)
    try:
        file = await as_deferred(bucket.open_download_stream_by_name(name))
    except NoFile as error:
        raise NotFound from error
    request.setHeader("Content-Type", file.metadata["contentType"])
    request.setHeader("Content-Length", str(file.length))
    while chunk := await as_deferred(file.readchunk()):
        request.write(chunk)


@app.route("/sleep")
async def sleep(request: Request) -> Response:
    ms = integer(request, "ms", default=1000, low=0, high=30000)
    await deferLater(reactor, ms / 1000)
    return json_response({"slept_ms": ms})


@app.route("/slow_api")
async def slow_api(request: Request) -> Response:
    count = integer(request, "calls", default=10, low=1, high=50)
    ms = integer(request, "ms", default=1000, low=0, high=5000)
    calls = [Deferred.fromCoroutine(call(request, number, ms)) for number in range(count)]
    try:
        results = await gatherResults(calls, consumeErrors=True).addTimeout(ms / 1000 + 5, reactor)
    except FirstError as error:
        for one in calls:
            one.cancel()
        raise BadGateway(str(error)) from error
    return json_response({"results": results})


async def call(request: Request, number: int, ms: int) -> dict[str, Any]:
    response = await treq.get(
        settings.SLOW_API_URL,
        params={"call": number, "ms": ms},
        headers={"X-Request-Id": request.requestHeaders.getRawHeaders("X-Request-Id", [])},
        allow_redirects=False,
    )
    result = await response.json()
    if response.code == 200 and isinstance(result, dict):
        return result
    raise ValueError(f"the upstream answered {response.code}")


def integer(request: Request, name: str, *, default: int, low: int, high: int) -> int:
    with suppress(ValueError):
        value = int(request.args.get(name.encode(), [default])[0])
        if low <= value <= high:
            return value
    raise BadRequest(f"{name} must be an integer from {low} to {high}")
