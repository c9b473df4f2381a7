import logging
from http import HTTPStatus

from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.utils.deprecation import MiddlewareMixin
from pydantic import ValidationError
from pymongo.errors import ConnectionFailure, ExecutionTimeout

from api.responses import json_response

logger = logging.getLogger(__name__)


class UpstreamError(Exception):
    """The upstream fails."""


class UpstreamTimeout(Exception):
    """The upstream is late."""


def problem(status: int, **members: object) -> HttpResponse:
    """Problem details (RFC 9457)."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, **members}
    return json_response(body, status=status, content_type="application/problem+json")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(400)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(404)


def server_error(request: HttpRequest) -> HttpResponse:
    return problem(500)


class ProblemMiddleware(MiddlewareMixin):
    """Answers exceptions of views, and logs the cause of each 5xx but 500, which Django logs."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        match exception:
            case ValidationError():
                errors = exception.errors(include_url=False, include_input=False)
                return problem(400, errors=errors)
            case UnreadablePostError():  # the client has left
                return problem(400)
            case RequestDataTooBig():
                return problem(413)
            case UpstreamError():
                status = 502
            case OperationalError() | ConnectionFailure() | ExecutionTimeout():
                status = 503
            case UpstreamTimeout():
                status = 504
            case _:
                return None
        cause = exception.__cause__ or exception
        logger.error("%r: %s: %r", request.path, type(cause).__name__, str(cause))
        return problem(status)
