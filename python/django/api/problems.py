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


def problem(
    request: HttpRequest, exception: object = None, *, status: int = 500, **members: object
) -> HttpResponse:
    """Answer with problem details (RFC 9457), and log the cause of a 5xx; Django logs a 500."""
    if status > 500:
        logger.error("%r: %s: %r", request.path, type(exception).__name__, str(exception))
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, **members}
    return json_response(body, status=status, content_type="application/problem+json")


class ProblemMiddleware(MiddlewareMixin):
    """Answers exceptions of views that Django has no status for."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        match exception:
            case ValidationError():
                errors = exception.errors(include_url=False, include_input=False)
                return problem(request, status=400, errors=errors)
            case UnreadablePostError():  # the client has left
                return problem(request, status=400)
            case RequestDataTooBig():
                return problem(request, status=413)
            case OperationalError() | ConnectionFailure() | ExecutionTimeout():
                return problem(request, exception, status=503)
        return None
