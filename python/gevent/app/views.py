import re
from typing import Any
from urllib.parse import parse_qs
from wsgiref.types import StartResponse, WSGIEnvironment

import gevent
import orjson
from urllib3.exceptions import HTTPError

from app.db import find_agents, find_article
from app.responses import Problem, respond, respond_json

DIGITS = re.compile(r"[0-9]{1,5}")


def parameter(environ: WSGIEnvironment, name: str, default: str) -> str:
    """The value of a query parameter; an empty one if it is given twice."""
    values = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True).get(name, [default])
    return values[0] if len(values) == 1 else ""


def integer(environ: WSGIEnvironment, name: str, default: int, low: int, high: int) -> int:
    text = parameter(environ, name, str(default))
    if DIGITS.fullmatch(text) and low <= int(text) <= high:
        return int(text)
    raise Problem(400, detail=f"{name} must be an integer from {low} to {high}")


def index(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    return respond(start_response, b"Hello, World!", "text/plain; charset=utf-8")


def hello(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    return respond_json(start_response, {"message": "Hello, World!"})


def mongo(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    slug = parameter(environ, "doc", "small")
    if slug not in ("small", "big"):
        raise Problem(400, detail="doc must be small or big")
    article = find_article(environ["app.turns"], environ["app.articles"], slug)
    if article is None:
        raise Problem(404)
    return respond_json(start_response, article)


def agents(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    return respond_json(start_response, find_agents(environ["app.postgresql"]))


def sleep(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    ms = integer(environ, "ms", default=1000, low=0, high=30000)
    gevent.sleep(ms / 1000)
    return respond_json(start_response, {"slept_ms": ms})


def slow_api(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    calls = integer(environ, "calls", default=10, low=1, high=50)
    ms = integer(environ, "ms", default=1000, low=0, high=5000)
    greenlets = [gevent.spawn(call, environ, number, ms) for number in range(calls)]
    try:
        with gevent.Timeout(ms / 1000 + 5, Problem(504)):
            results = [greenlet.get() for greenlet in greenlets]
    finally:
        gevent.killall(greenlets, block=False)
    if None in results:
        raise Problem(502)
    return respond_json(start_response, {"results": results})


def call(environ: WSGIEnvironment, number: int, ms: int) -> dict[str, Any] | None:
    """The upstream's answer, or nothing if it is not as it should be."""
    request_id = environ.get("HTTP_X_REQUEST_ID")
    try:
        response = environ["app.upstream"].request(
            "GET",
            environ["app.slow_api_url"],
            fields={"call": number, "ms": ms},
            headers={"X-Request-Id": request_id} if request_id else None,
        )
        result = orjson.loads(response.data)
    except (HTTPError, ValueError):
        return None
    return result if response.status == 200 and isinstance(result, dict) else None
