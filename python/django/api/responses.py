from http import HTTPStatus
from typing import Any

import orjson
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse


def text_response(text: str) -> HttpResponse:
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def json_response(data: Any) -> HttpResponse:
    return HttpResponse(orjson.dumps(data, default=str), content_type="application/json")


def problem(
    status: int, headers: dict[str, str] | None = None, detail: str | None = None
) -> HttpResponse:
    """Problem details (RFC 9457)."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    if detail:
        body["detail"] = detail
    return HttpResponse(
        orjson.dumps(body), status=status, headers=headers, content_type="application/problem+json"
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(400, detail=str(exception) if isinstance(exception, BadRequest) else None)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(404)


def server_error(request: HttpRequest) -> HttpResponse:
    return problem(500)
