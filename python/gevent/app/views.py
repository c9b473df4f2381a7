from contextlib import suppress
from typing import Any

import gevent
import httpx2
import orjson
from gridfs import GridFSBucket, NoFile
from werkzeug.exceptions import BadGateway, BadRequest, GatewayTimeout, NotFound
from werkzeug.utils import send_from_directory
from werkzeug.wrappers import Request, Response

from app import settings
from app.databases import AGENTS, mongodb, postgresql

# /slow_api makes all its calls at once, under a timeout of its own that is shorter.
upstream = httpx2.Client(limits=httpx2.Limits(max_connections=None), timeout=15)


def json_response(data: Any) -> Response:
    return Response(orjson.dumps(data), mimetype="application/json")


def index(request: Request) -> Response:
    return Response("Hello, World!")


def hello(request: Request) -> Response:
    return json_response({"message": "Hello, World!"})


def mongo(request: Request) -> Response:
    slug = request.args.get("doc", "small")
    if slug not in ("small", "big"):
        raise BadRequest("doc must be small or big")
    if article := mongodb.articles.find_one({"slug": slug}):
        return json_response(article | {"_id": str(article["_id"])})
    raise NotFound


def agents(request: Request) -> Response:
    with postgresql.connection() as connection:
        return json_response(connection.execute(AGENTS).fetchall())


def files(request: Request, name: str) -> Response:
    return send_from_directory(settings.FILES_DIR, name, request.environ)


def gridfs(request: Request, name: str) -> Response:
    try:
        file = GridFSBucket(mongodb).open_download_stream_by_name(name)
    except NoFile as error:
        raise NotFound from error
    headers = {"Content-Type": file.metadata["contentType"], "Content-Length": str(file.length)}
    return Response(iter(file.readchunk, b""), headers=headers)


def sleep(request: Request) -> Response:
    ms = integer(request, "ms", default=1000, low=0, high=30000)
    gevent.sleep(ms / 1000)
    return json_response({"slept_ms": ms})


def slow_api(request: Request) -> Response:
    calls = integer(request, "calls", default=10, low=1, high=50)
    ms = integer(request, "ms", default=1000, low=0, high=5000)
    request_id = request.headers.get("X-Request-Id")
    headers = {"X-Request-Id": request_id} if request_id else None

    def call(number: int) -> dict[str, Any]:
        params = {"call": number, "ms": ms}
        response = upstream.get(settings.SLOW_API_URL, params=params, headers=headers)
        if response.status_code == 200 and isinstance(result := response.json(), dict):
            return result
        raise ValueError(f"the upstream answered {response.status_code}")

    jobs = [gevent.spawn(call, number) for number in range(calls)]
    try:
        with gevent.Timeout(ms / 1000 + 5, TimeoutError):
            gevent.joinall(jobs, raise_error=True)
    except TimeoutError as error:
        raise GatewayTimeout from error
    except (httpx2.HTTPError, ValueError) as error:
        raise BadGateway from error
    finally:
        gevent.killall(jobs, block=False)
    return json_response({"results": [job.value for job in jobs]})


def integer(request: Request, name: str, *, default: int, low: int, high: int) -> int:
    with suppress(ValueError):
        value = int(request.args.get(name, default))
        if low <= value <= high:
            return value
    raise BadRequest(f"{name} must be an integer from {low} to {high}")
