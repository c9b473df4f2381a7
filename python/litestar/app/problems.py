from functools import partial
from http import HTTPStatus
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException, InternalServerException
from litestar.openapi import ResponseSpec
from msgspec import UNSET, Struct, UnsetType

from app.databases import AWAY

MEDIA_TYPE = "application/problem+json"


class Problem(Struct, kw_only=True):
    type: str = "about:blank"
    title: str
    status: int
    detail: str | UnsetType = UNSET
    errors: Any = UNSET


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    spec = partial(ResponseSpec, Problem, generate_examples=False, media_type=MEDIA_TYPE)
    return {status: spec(description=HTTPStatus(status).phrase) for status in (*statuses, 500)}


def respond(request: Request[Any, Any, Any], error: Exception) -> Response[Problem]:
    """Answer with problem details (RFC 9457), and log the cause of each 5xx."""
    answer = error if isinstance(error, HTTPException) else InternalServerException()
    status = 503 if isinstance(error, AWAY) else answer.status_code
    problem = Problem(title=HTTPStatus(status).phrase, status=status)
    if status == 400:
        problem.detail, problem.errors = answer.detail, answer.extra or UNSET
    if status >= 500:
        cause = error.__cause__ or error
        request.logger.error("%r: %r", request.scope["path"], cause, exc_info=status == 500)
    return Response(problem, status_code=status, headers=answer.headers, media_type=MEDIA_TYPE)
