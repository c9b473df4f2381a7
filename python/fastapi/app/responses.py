from http import HTTPStatus
from typing import Any

import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

HEADERS = {405: {"Allow": "GET, HEAD"}, 503: {"Retry-After": "1"}}


class ORJSONResponse(JSONResponse):
    def render(self, content: Any) -> bytes:
        return orjson.dumps(content, default=str)


class Problem(ORJSONResponse):
    """Problem details (RFC 9457)."""

    media_type = "application/problem+json"

    def __init__(self, status: int, detail: str | None = None) -> None:
        body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
        if detail:
            body["detail"] = detail
        super().__init__(body, status, HEADERS.get(status))


async def http_problem(request: Request, error: HTTPException) -> Problem:
    return Problem(error.status_code)


async def parameter_problem(request: Request, error: RequestValidationError) -> Problem:
    return Problem(400, str(error.errors()[0]["ctx"]["error"]))


async def server_problem(request: Request, error: Exception) -> Problem:
    return Problem(500)
