from typing import Any

import orjson
from klein import Response
from pydantic import ValidationError
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from werkzeug.exceptions import BadRequest, HTTPException, InternalServerError, ServiceUnavailable

from app.databases import AWAY

log = Logger()


def problem(request: Any, failure: Failure) -> Any:
    """Answer errors with problem details (RFC 9457), and log the cause of each 5xx."""
    answer: Any = InternalServerError()
    cause = failure.value
    if isinstance(cause, HTTPException):
        answer, cause = cause, cause.__cause__
    elif isinstance(cause, ValidationError):
        answer = BadRequest()
    elif isinstance(cause, AWAY):
        answer = ServiceUnavailable()
    else:
        log.failure("{path!r}", failure, path=request.path)
        cause = None
    if cause and answer.code >= 500:
        log.error("{path!r}: {cause!r}", path=request.path, cause=cause)
    if request.startedWriting:
        request.loseConnection()
        return Deferred()  # until Klein cancels it: no byte may follow the part of a body
    problem = {"type": "about:blank", "title": answer.name, "status": answer.code}
    if isinstance(cause, ValidationError):
        problem["errors"] = cause.errors(include_url=False, include_input=False)
    body = orjson.dumps(problem)
    headers = {"Content-Type": "application/problem+json", "Content-Length": str(len(body))}
    return Response(answer.code, dict(answer.get_headers()) | headers, body)
