import re
import time
from typing import Any

from flask import Blueprint, Response, abort, request

from app.db import find_agents, find_article
from app.upstream import call_together

bp = Blueprint("views", __name__)

DIGITS = re.compile(r"[0-9]{1,5}")


def integer(name: str, default: int, low: int, high: int) -> int:
    values = request.args.getlist(name)
    if not values:
        return default
    if len(values) == 1 and DIGITS.fullmatch(values[0]) and low <= int(values[0]) <= high:
        return int(values[0])
    abort(400, f"{name} must be an integer from {low} to {high}")


@bp.get("/index")
def index() -> Response:
    return Response("Hello, World!", mimetype="text/plain")


@bp.get("/json")
def hello() -> dict[str, str]:
    return {"message": "Hello, World!"}


@bp.get("/mongo")
def mongo() -> dict[str, Any]:
    slugs = request.args.getlist("doc") or ["small"]
    if slugs not in (["small"], ["big"]):
        abort(400, "doc must be small or big")
    return find_article(slugs[0]) or abort(404)


@bp.get("/agents")
def agents() -> list[dict[str, Any]]:
    return find_agents()


@bp.get("/sleep")
def sleep() -> dict[str, int]:
    ms = integer("ms", default=1000, low=0, high=30000)
    time.sleep(ms / 1000)
    return {"slept_ms": ms}


@bp.get("/slow_api")
def slow_api() -> dict[str, list[dict[str, Any]]]:
    calls = integer("calls", default=10, low=1, high=50)
    ms = integer("ms", default=1000, low=0, high=5000)
    return {"results": call_together(calls, ms, request.headers.get("X-Request-Id"))}
