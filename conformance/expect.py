"""Comparisons that tell expected against got, and how to repeat the request."""

from collections.abc import Container
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import spec
from conformance.http import Response

JSON = "application/json"
PROBLEM = "application/problem+json"
TEXT = "text/plain; charset=utf-8"

_SHOWN = 300


class Mismatch(AssertionError):
    """A response is not what the contract says."""

    def __init__(self, what: str, expected: object, got: object, response: Response) -> None:
        """Say of which part of ``response`` it is that ``got`` came where ``expected`` was due."""
        self.repeat = response.repeat
        super().__init__(
            f"{response.request.method} {response.request.target[:_SHOWN]}: {what}\n"
            f"expected  {_shown(expected)}\ngot       {_shown(got)}"
        )


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def same(what: str, expected: object, got: object, response: Response) -> None:
    """Fail unless they are equal."""
    if isinstance(expected, bytes) and isinstance(got, bytes) and expected != got:
        at = next((i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), None)
        if at is None:
            at = min(len(expected), len(got))
        start = max(at - 40, 0) if at > 60 else 0
        what = f"{what} ({len(expected)} against {len(got)} bytes, first difference at {at})"
        raise Mismatch(what, expected[start : start + 200], got[start : start + 200], response)
    if expected != got:
        raise Mismatch(what, expected, got, response)


def one_of(what: str, expected: Container[object], got: object, response: Response) -> None:
    """Fail unless ``got`` is among ``expected``."""
    if got not in expected:
        raise Mismatch(what, f"one of {expected}", got, response)


def holds(what: str, expected: str, truth: bool, got: object, response: Response) -> None:
    """Fail unless ``truth``; ``expected`` says in words what should be."""
    if not truth:
        raise Mismatch(what, expected, got, response)


def answer(response: Response, content_type: str, body: bytes, status: int = 200) -> None:
    """Fail unless the response is this one, to the byte."""
    same("status", status, response.status, response)
    same("Content-Type", content_type, response.content_type, response)
    same("Content-Length", str(len(body)), response.header("Content-Length"), response)
    same("body", b"" if response.request.method == "HEAD" else body, response.body, response)


def problem(response: Response, status: int, detail: str | None = None) -> None:
    """Fail unless the response is the contract's problem of that status, to the byte."""
    answer(response, PROBLEM, spec.problem(status, detail), status)
    if status == 405:
        same("Allow", "GET, HEAD", response.header("Allow"), response)
    if status == 503:
        same("Retry-After", "1", response.header("Retry-After"), response)


def dated(response: Response) -> None:
    """Fail unless ``Date`` is there, in the one form of RFC 9110, section 5.6.7, and is now."""
    value = response.header("Date")
    try:
        date = parsedate_to_datetime(value or "")
    except ValueError:
        raise Mismatch("Date", "an IMF-fixdate", value, response) from None
    same("form of Date", date.strftime("%a, %d %b %Y %H:%M:%S GMT"), value, response)
    age = abs((datetime.now(UTC) - date.replace(tzinfo=UTC)).total_seconds())
    holds("Date", "now, to 5 s", age < 5, value, response)
