from collections.abc import Iterable
from http import HTTPStatus
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import orjson


def respond(
    start_response: StartResponse,
    body: bytes,
    content_type: str,
    status: HTTPStatus = HTTPStatus.OK,
    headers: Iterable[tuple[str, str]] = (),
) -> list[bytes]:
    length = ("Content-Length", str(len(body)))
    start_response(
        f"{status.value} {status.phrase}", [("Content-Type", content_type), length, *headers]
    )
    return [body]


def respond_json(start_response: StartResponse, data: Any) -> list[bytes]:
    return respond(start_response, orjson.dumps(data, default=str), "application/json")


class Problem(Exception):
    """An error, and the WSGI application that answers it with problem details (RFC 9457)."""

    def __init__(self, status: int, *headers: tuple[str, str], detail: str | None = None) -> None:
        super().__init__(status)
        self.status = HTTPStatus(status)
        self.headers = headers
        self.detail = detail

    def __call__(self, _: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        problem = {"type": "about:blank", "title": self.status.phrase, "status": self.status.value}
        if self.detail:
            problem["detail"] = self.detail
        body = orjson.dumps(problem)
        return respond(start_response, body, "application/problem+json", self.status, self.headers)


class Unavailable(Problem):
    def __init__(self) -> None:
        super().__init__(503, ("Retry-After", "1"))
