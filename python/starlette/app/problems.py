import logging
from http import HTTPStatus

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from app.databases import AWAY

logger = logging.getLogger("uvicorn.error")

ERRORS = (HTTPException, ValidationError, ClientDisconnect, *AWAY, Exception)


async def answer(request: Request, error: Exception) -> JSONResponse:
    """Answer with problem details (RFC 9457), and log the cause of each 5xx."""
    status, headers, cause, members = 500, None, None, {}  # Uvicorn logs a 500
    if isinstance(error, HTTPException):
        status, headers, cause = error.status_code, error.headers, error.__cause__
    elif isinstance(error, ValidationError):
        status, members = 400, {"errors": error.errors(include_url=False, include_input=False)}
    elif isinstance(error, ClientDisconnect):
        status = 400
    elif isinstance(error, AWAY):
        status, cause = 503, error
    if cause and status >= 500:
        logger.error("%r: %s: %r", request.scope["path"], type(cause).__name__, str(cause))
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    return JSONResponse(body | members, status, headers, media_type="application/problem+json")
