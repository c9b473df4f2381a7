import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx2
from flask import Blueprint, Response, abort, current_app, request, send_from_directory
from gridfs import GridFSBucket, NoFile

from app.databases import AGENTS

bp = Blueprint("views", __name__)


@bp.get("/index")
def index() -> Response:
    return Response("Hello, World!", mimetype="text/plain")


@bp.get("/json")
def hello() -> dict[str, str]:
    return {"message": "Hello, World!"}


@bp.get("/mongo")
def mongo() -> dict[str, Any]:
    slug = request.args.get("doc", "small")
    if slug not in ("small", "big"):
        abort(400, "doc must be small or big")
    if article := current_app.extensions["mongodb"].articles.find_one({"slug": slug}):
        return article | {"_id": str(article["_id"])}
    abort(404)


@bp.get("/agents")
def agents() -> list[dict[str, Any]]:
    with current_app.extensions["postgresql"]() as connection:
        return connection.execute(AGENTS).fetchall()


@bp.get("/files/<name>")
def files(name: str) -> Response:
    return send_from_directory(current_app.config["FILES_DIR"], name)


@bp.get("/gridfs/<name>")
def gridfs(name: str) -> Response:
    try:
        file = GridFSBucket(current_app.extensions["mongodb"]).open_download_stream_by_name(name)
    except NoFile:
        abort(404)
    headers = {"Content-Type": file.metadata["contentType"], "Content-Length": str(file.length)}
    return Response(iter(file.readchunk, b""), headers=headers)


@bp.get("/sleep")
def sleep() -> dict[str, int]:
    ms = integer("ms", default=1000, low=0, high=30000)
    time.sleep(ms / 1000)
    return {"slept_ms": ms}


@bp.get("/slow_api")
def slow_api() -> dict[str, list[Any]]:
    calls = integer("calls", default=10, low=1, high=50)
    ms = integer("ms", default=1000, low=0, high=5000)
    timeout = ms / 1000 + 5
    url, client = current_app.config["SLOW_API_URL"], current_app.extensions["upstream"]
    request_id = request.headers.get("X-Request-Id")
    headers = {"X-Request-Id": request_id} if request_id else None

    def call(number: int) -> dict[str, Any]:
        params = {"call": number, "ms": ms}
        response = client.get(url, params=params, headers=headers, timeout=timeout)
        if response.status_code == 200 and isinstance(result := response.json(), dict):
            return result
        raise ValueError(f"the upstream answered {response.status_code}")

    executor = ThreadPoolExecutor(calls)
    try:
        return {"results": list(executor.map(call, range(calls), timeout=timeout))}
    except TimeoutError:
        abort(504)
    except (httpx2.HTTPError, ValueError):
        abort(502)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def integer(name: str, *, default: int, low: int, high: int) -> int:
    with suppress(ValueError):
        value = int(request.args.get(name, default))
        if low <= value <= high:
            return value
    abort(400, f"{name} must be an integer from {low} to {high}")
