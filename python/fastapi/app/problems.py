import logging
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from app.databases import AWAY

logger = logging.getLogger("uvicorn.error")


class Problem(BaseModel):
    type: str = "about:blank"
    title: str
    status: int
    detail: str | None = None


def problems(*statuses: int | str) -> dict[int | str, dict[str, Any]]:
    """Describe problems for the argument ``responses``."""
    content = {"application/problem+json": {"schema": Problem.model_json_schema()}}
    return {status: {"content": content} for status in statuses}


async def answer(request: Request, error: Exception) -> Response:
    """Answer with problem details (RFC 9457), and log the cause of each 5xx."""
    problem, cause, detail = HTTPException(500), None, None  # the server logs a 500 itself
    if isinstance(error, HTTPException):
        problem, cause = error, error.__cause__
    elif isinstance(error, RequestValidationError):
        detail = "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
        problem = HTTPException(422 if error.errors()[0]["loc"][0] == "body" else 400)
    elif isinstance(error, AWAY):
        problem, cause = HTTPException(503), error
    status = problem.status_code
    if cause and status >= 500:
        logger.error("%r: %s: %r", request.scope["path"], type(cause).__name__, str(cause))
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    content = body.model_dump_json(exclude_none=True)
    return Response(content, status, problem.headers, media_type="application/problem+json")


ERRORS = (HTTPException, RequestValidationError, *AWAY, Exception)
