import logging
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from app.databases import AWAY

logger = logging.getLogger("uvicorn.error")


class ProblemResponse(JSONResponse):
    media_type = "application/problem+json"


async def problem(request: Request, error: Exception) -> ProblemResponse:
    """Answer with problem details (RFC 9457), and log the cause of each 5xx."""
    answer, cause, members = HTTPException(500), None, {}  # Uvicorn logs a 500
    if isinstance(error, HTTPException):
        answer, cause = error, error.__cause__
    elif isinstance(error, ValidationError):
        answer = HTTPException(400)
        members = {"errors": error.errors(include_url=False, include_input=False)}
    elif isinstance(error, ClientDisconnect):
        answer = HTTPException(400)
    elif isinstance(error, AWAY):
        answer, cause = HTTPException(503), error
    status = answer.status_code
    if cause and status >= 500:
        logger.error("%r: %s: %r", request.scope["path"], type(cause).__name__, str(cause))
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    return ProblemResponse(body | members, status, answer.headers)


handlers: dict[Any, Any] = dict.fromkeys(
    (HTTPException, ValidationError, ClientDisconnect, *AWAY, Exception), problem
)
