"""Comparisons whose failures show the expected and the actual value, and repeat the request."""

import json

import spec
from conformance.http import Response
from spec import Expected, media_types

_SHOWN = 300


class Mismatch(AssertionError):
    """A response differs from the contract."""

    def __init__(self, what: str, expected: object, got: object, response: Response) -> None:
        self.what = what.split(" (")[0]
        self.status, self.request = response.status, response.request
        self.repeat = response.request.curl(response.url)
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
        at = first_difference(expected, got)
        start = max(at - 40, 0) if at > 60 else 0
        what = f"{what} ({len(expected)} against {len(got)} bytes, first difference at {at})"
        raise Mismatch(what, expected[start : start + 200], got[start : start + 200], response)
    if expected != got:
        raise Mismatch(what, expected, got, response)


def first_difference(one: bytes, other: bytes) -> int:
    """Where they begin to differ; the length of the shorter one if that is the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def holds(what: str, expected: str, truth: bool, got: object, response: Response) -> None:
    """Fail unless ``truth``; ``expected`` describes it."""
    if not truth:
        raise Mismatch(what, expected, got, response)


def answer(response: Response, expected: Expected) -> None:
    """Fail unless the response is as expected, to the byte."""
    same("status", expected.status, response.status, response)
    given, due = response.header("Content-Type"), expected.media_type
    if media_types.compared(given, due) != media_types.canonical(due):
        raise Mismatch("Content-Type", due, given, response)
    body = without_extras(response) if expected.detail else response.body
    same("body", expected.body, body, response)


def right(response: Response) -> None:
    """Fail unless the response is the right one for its request."""
    answer(response, spec.expected(response.request.target))


def problem(response: Response, *statuses: int) -> None:
    """Fail unless the response is the contract's problem for one of these statuses."""
    either = " or ".join(map(str, statuses))
    holds("status", either, response.status in statuses, response.status, response)
    detail = response.status not in (404, 405)
    body = spec.problem(response.status).replace(*_RENAMED)
    answer(response, Expected(response.status, spec.PROBLEM, body, detail))


def without_extras(response: Response) -> bytes:
    """A problem without what the contract leaves to the server.

    That is a ``detail``; in a 400 and a 422 also extension members (RFC 9457, section 3.2), and in
    a 422 which of its two names the status has (RFC 9110 renamed it).
    """
    try:
        problem = json.loads(response.body)
        known = spec.json_body({name: problem[name] for name in ("type", "title", "status")})
    except (ValueError, TypeError, KeyError):
        return response.body
    has_more = response.body.startswith(known[:-1] + b',"') and response.body.endswith(b"}")
    is_compact = response.body == known or has_more
    if not is_compact or not isinstance(problem.get("detail", ""), str):
        return response.body
    if response.status not in (400, 422) and problem.keys() - {"type", "title", "status", "detail"}:
        return response.body
    return known.replace(*_RENAMED)


_RENAMED = (b"Unprocessable Content", b"Unprocessable Entity")
