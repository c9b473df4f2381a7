import re

from django.core.exceptions import BadRequest
from django.http import HttpRequest

DIGITS = re.compile(r"[0-9]{1,5}")


def article_slug(request: HttpRequest) -> str:
    values = request.GET.getlist("doc", ["small"])
    if values not in (["small"], ["big"]):
        raise BadRequest("doc must be small or big")
    return values[0]


def integer(request: HttpRequest, name: str, *, default: int, low: int, high: int) -> int:
    values = request.GET.getlist(name)
    if not values:
        return default
    if len(values) == 1 and DIGITS.fullmatch(values[0]) and low <= int(values[0]) <= high:
        return int(values[0])
    raise BadRequest(f"{name} must be an integer from {low} to {high}")


def sleep_ms(request: HttpRequest) -> int:
    return integer(request, "ms", default=1000, low=0, high=30000)


def calls_and_ms(request: HttpRequest) -> tuple[int, int]:
    return (
        integer(request, "calls", default=10, low=1, high=50),
        integer(request, "ms", default=1000, low=0, high=5000),
    )
