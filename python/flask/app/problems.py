from flask import Flask, current_app, json, request
from werkzeug.exceptions import HTTPException, ServiceUnavailable
from werkzeug.wrappers import Response

from app.databases import AWAY


def init_app(app: Flask) -> None:
    app.register_error_handler(HTTPException, http_problem)
    for error in AWAY:
        app.register_error_handler(error, database_problem)


def http_problem(error: HTTPException) -> Response:
    """Answer with problem details (RFC 9457)."""
    body = {"type": "about:blank", "title": error.name, "status": error.code}
    if error.code == 400:
        body["detail"] = error.description
    response = error.get_response()
    response.data = json.dumps(body)
    response.content_type = "application/problem+json"
    return response


def database_problem(error: Exception) -> Response:
    current_app.logger.error("%s: %r", request.path, error)
    return http_problem(ServiceUnavailable())
