import re
from collections.abc import Awaitable
from http import HTTPStatus
from typing import Any

import orjson
from tornado.web import HTTPError, RequestHandler

DIGITS = re.compile(rb"[0-9]{1,5}")


class BadRequest(HTTPError):
    def __init__(self, detail: str) -> None:
        super().__init__(400)
        self.detail = detail


class Handler(RequestHandler):
    SUPPORTED_METHODS = ("GET", "HEAD")

    def head(self, *args: str) -> Awaitable[None] | None:
        return self.get(*args)

    def compute_etag(self) -> str | None:
        return None

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        values = self.request.query_arguments.get(name, [])
        if not values:
            return default
        if len(values) == 1 and DIGITS.fullmatch(values[0]) and low <= int(values[0]) <= high:
            return int(values[0])
        raise BadRequest(f"{name} must be an integer from {low} to {high}")

    def write_json(self, data: Any) -> None:
        self.set_header("Content-Type", "application/json")
        self.write(orjson.dumps(data, default=str))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer errors with problem details (RFC 9457)."""
        problem = {
            "type": "about:blank",
            "title": HTTPStatus(status_code).phrase,
            "status": status_code,
        }
        match status_code, kwargs.get("exc_info"):
            case 400, (_, BadRequest() as error, _):
                problem["detail"] = error.detail
            case 405, _:
                self.set_header("Allow", "GET, HEAD")
            case 503, _:
                self.set_header("Retry-After", "1")
        self.set_header("Content-Type", "application/problem+json")
        self.finish(orjson.dumps(problem))


class NotFound(Handler):
    """The answer to an unknown path, whatever the method."""

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.set_status(404)
        super().write_error(404, **kwargs)
