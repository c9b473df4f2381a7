"""The fingerprint is a hash of the received responses."""

from dataclasses import replace
from typing import Any

import pytest

import spec
from conformance.corpus import Exchange, fingerprint
from conformance.http import Request, Response
from spec import media_types

pytestmark = pytest.mark.quick

BODY = spec.problem(400)


def hashed(exchanges: list[Exchange], **changes: Any) -> str:
    """The fingerprint of their right responses, as a server sends them, with these changes."""
    received = []
    for exchange in exchanges:
        sent = replace(exchange.expected, **changes)
        headers = (("content-type", sent.media_type or "x/y"),)
        response = Response(Request(exchange.target), "1.1", sent.status, headers, sent.body)
        received.append((exchange, response))
    return fingerprint(received)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"body": BODY[:-1] + b',"detail":"ms: \\"abc\\" is no number"}'}, True),
        ({"body": BODY[:-1] + b',"detail":7}'}, False),
        ({"body": BODY[:-1] + b',"more":"x"}'}, True),  # RFC 9457, section 3.2
        ({"body": b'{"more":"x",' + BODY[1:]}, False),
        ({"body": BODY.replace(b",", b", ")}, False),
        ({"body": BODY[:-1] + b', "detail":"x"}'}, False),
        ({"body": BODY + b"\n"}, False),
        ({"media_type": "Application/Problem+JSON; charset=UTF-8"}, True),
        ({"media_type": "application/json"}, False),
        ({"media_type": "application/problem+json; charset=latin-1"}, False),
        ({"status": 422}, False),
    ],
)
def test_the_hash_covers_all_that_the_contract_defines(changes: dict[str, Any], same: bool) -> None:
    exchanges = [Exchange("sleep", "/sleep?ms=abc")]
    assert (hashed(exchanges, **changes) == hashed(exchanges)) == same


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        ("text/plain; charset=utf-8", "text/plain; charset=utf-8", True),
        ('Text/Plain;charset="UTF-8"', "text/plain; charset=utf-8", True),
        ("text/plain", "text/plain; charset=utf-8", False),
        ("text/plain; charset=latin-1", "text/plain; charset=utf-8", False),
        ("application/json;charset=utf-8", "application/json", True),
        ("application/json; charset=latin-1", "application/json", False),
        ("text/css; charset=latin-1", "text/css", True),
        ("text/html", "text/css", False),
        (None, "text/css", False),
        ("anything", None, True),
    ],
)
def test_media_types_are_compared_as_rfc_9110_compares_them(
    value: str | None, expected: str | None, same: bool
) -> None:
    assert (media_types.compared(value, expected) == media_types.canonical(expected)) == same
