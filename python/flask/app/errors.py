from http import HTTPStatus

import orjson
import psycopg
from flask import Flask, Response, current_app
from pymongo.errors import ConnectionFailure, ExecutionTimeout
from werkzeug.exceptions import HTTPException


def init_app(app: Flask) -> None:
    app.register_error_handler(HTTPException, http_error)
    for error in (ConnectionFailure, ExecutionTimeout, psycopg.OperationalError):
        app.register_error_handler(error, database_error)


def http_error(error: HTTPException) -> Response | HTTPException:
    match error.code:
        case 400:
            return problem(400, detail=error.description)
        case 405:
            return problem(405, {"Allow": "GET, HEAD"})
        case 416:
            return error  # with its Content-Range
        case code:
            return problem(code or 500)


def database_error(error: Exception) -> Response:
    current_app.logger.error("%s: %s", type(error).__name__, error)
    return problem(503, {"Retry-After": "1"})


def problem(
    status: int, headers: dict[str, str] | None = None, detail: str | None = None
) -> Response:
    """Answer with problem details (RFC 9457)."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    if detail:
        body["detail"] = detail
    return Response(orjson.dumps(body), status, headers, mimetype="application/problem+json")
