from collections.abc import Awaitable
from http import HTTPStatus
from typing import Any

import orjson
from tornado.web import HTTPError, RequestHandler


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
    """No method is allowed on a path that there is not."""

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.set_status(404)
        super().write_error(404, **kwargs)
