from typing import Any

import orjson
from pydantic import ValidationError
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from werkzeug.exceptions import (
    BadRequest,
    HTTPException,
    InternalServerError,
    ServiceUnavailable,
)

from app.databases import AWAY

log = Logger()


def problem(request: Any, failure: Failure) -> bytes | Deferred[bytes]:
    """Answer errors with problem details (RFC 9457), and log the cause of each 5xx."""
    error = failure.value
    answer: HTTPException
    if isinstance(error, HTTPException):
        answer, cause = error, error.__cause__
    elif isinstance(error, ValidationError):
        answer, cause = BadRequest(), error
    elif isinstance(error, AWAY):
        answer, cause = ServiceUnavailable(), error
    else:
        log.failure("{path!r}", failure, path=request.path)
        answer, cause = InternalServerError(), None
    status = answer.code or 500
    if cause and status >= 500:
        kind = type(cause).__name__
        log.error("{path!r}: {kind}: {cause!r}", path=request.path, kind=kind, cause=str(cause))
    if request.startedWriting:
        request.loseConnection()
        return Deferred()  # until Klein cancels it: nothing may follow the part of a body
    body = {"type": "about:blank", "title": answer.name, "status": status}
    if isinstance(cause, ValidationError):
        body["errors"] = cause.errors(include_url=False, include_input=False)
    content = orjson.dumps(body)
    request.setResponseCode(status)
    for name, value in answer.get_headers():
        request.setHeader(name, value)
    request.setHeader("Content-Type", "application/problem+json")
    request.setHeader("Content-Length", str(len(content)))
    return content
