from flask import current_app, json, request
from pydantic import ValidationError
from werkzeug.exceptions import BadRequest, HTTPException, InternalServerError, ServiceUnavailable
from werkzeug.wrappers import Response

from app.databases import AWAY


def answer(error: Exception) -> Response:
    """Answer with problem details (RFC 9457), and log the cause of each 5xx."""
    problem: HTTPException = InternalServerError()
    cause, members = None, {}
    if isinstance(error, HTTPException):
        problem, cause = error, error.__cause__
    elif isinstance(error, ValidationError):
        problem = BadRequest()
        members["errors"] = error.errors(include_url=False, include_input=False)
    elif isinstance(error, AWAY):
        problem, cause = ServiceUnavailable(), error
    else:
        current_app.logger.exception("%r", request.path)
    if cause and problem.code != 400:
        current_app.logger.error("%r: %s: %r", request.path, type(cause).__name__, str(cause))
    response = problem.get_response()
    body = {"type": "about:blank", "title": problem.name, "status": problem.code}
    response.data = json.dumps(body | members)
    response.content_type = "application/problem+json"
    return response
