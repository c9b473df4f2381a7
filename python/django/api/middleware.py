import logging
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from psycopg_pool import PoolTimeout
from pymongo.errors import PyMongoError

from api.responses import problem
from api.upstream import UpstreamError, UpstreamTimeout

logger = logging.getLogger(__name__)


class ProblemMiddleware:
    # https://docs.djangoproject.com/en/5.2/topics/http/middleware/#asynchronous-support
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if self.is_async:
            return self.__acall__(request)
        return complete(request, self.get_response(request))

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        return complete(request, await self.get_response(request))

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        match exception:
            case OperationalError() | PyMongoError():
                response = problem(503, {"Retry-After": "1"})
            case UpstreamError():
                response = problem(502)
            case UpstreamTimeout():
                response = problem(504)
            case _:
                return None
        logger.error("%s: %r", request.path, exception)
        is_broken = not isinstance(exception.__cause__, PoolTimeout)
        if isinstance(exception, OperationalError) and is_broken:
            connection.pool.drain()  # its other connections are as broken, each cost a request
        return response


def complete(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if response.status_code == 405:
        response = problem(405, {"Allow": response["Allow"]})
    if isinstance(response, HttpResponse) and response.status_code != 304:
        response.headers.setdefault("Content-Length", str(len(response.content)))
        if request.method == "HEAD":
            response.content = b""
    return response
