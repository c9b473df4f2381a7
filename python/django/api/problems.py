import logging
from http import HTTPStatus

from django.db import OperationalError
from django.utils.deprecation import MiddlewareMixin
from pymongo.errors import ConnectionFailure

from api.responses import json_response

logger = logging.getLogger(__name__)


class UpstreamError(Exception):
    pass


def problem(status, **members):
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, **members}
    return json_response(body, status=status, content_type="application/problem+json")


def bad_request(request, exception):
    return problem(400, detail=str(exception))


def not_found(request, exception):
    return problem(404)


def server_error(request):
    return problem(500)


class ProblemMiddleware(MiddlewareMixin):
    def process_exception(self, request, exception):
        match exception:
            case UpstreamError():
                status = 502
            case OperationalError() | ConnectionFailure():
                status = 503
            case _:
                return None
        logger.error("%s: %r", request.path, exception)
        return problem(status)
