"""The fingerprint is a hash of the received responses."""

import json
from pathlib import Path

import pytest

from conformance.corpus import Exchange, corpus, fingerprint
from conformance.http import Request, Response
from harness.paths import ROOT
from spec import Expected, media_types
from tests.tasks import run

pytestmark = pytest.mark.quick

WRONG = ROOT / "tests" / "servers" / "wrong" / "wrong"


def fingerprint_of(folder: Path, fault: str) -> tuple[str, int]:
    """The wrong server's fingerprint with a fault, and the exit status of the suite."""
    (folder / "fault").write_text(fault)
    words = ("conform", str(WRONG), "-k", "test_fingerprint", "--json")
    done = run(*words, env={"FAULT_FILE": str(folder / "fault")})
    (verdict,) = json.loads(done.stdout)
    return verdict["fingerprint"], done.returncode


@pytest.mark.timeout(300)
def test_a_server_that_differs_by_a_byte_has_another_one(tmp_path: Path) -> None:
    right, passed = fingerprint_of(tmp_path, "")
    wrong, failed = fingerprint_of(tmp_path, "index-other-byte")
    assert (passed, failed) == (0, 1)
    assert right != wrong


def sent(exchange: Exchange, expected: Expected) -> Response:
    """A response as a server would send it."""
    headers = (("content-type", expected.media_type or "x/y"),)
    request = Request(exchange.target)
    return Response(request, "1.1", expected.status, headers, expected.body)


def test_the_hash_covers_all_that_the_contract_defines() -> None:
    exchange = Exchange("sleep", "/sleep?ms=abc")
    expected = exchange.expected
    bare = fingerprint([(exchange, sent(exchange, expected))])
    problem = expected.body.removesuffix(b"}")
    for body, same in (
        (problem + b',"detail":"ms: \\"abc\\" is no number"}', True),
        (problem + b',"detail":7}', False),
        (problem + b',"more":"x"}', True),  # RFC 9457, section 3.2
        (b'{"more":"x",' + expected.body[1:], False),
        (expected.body.replace(b",", b", "), False),
    ):
        other = fingerprint([(exchange, sent(exchange, Expected(400, expected.media_type, body)))])
        assert (other == bare) == same, body
    for media_type, same in (
        ("Application/Problem+JSON; charset=UTF-8", True),
        ("application/json", False),
        ("application/problem+json; charset=latin-1", False),
    ):
        other = fingerprint([(exchange, sent(exchange, Expected(400, media_type, expected.body)))])
        assert (other == bare) == same, media_type
    other = fingerprint(
        [(exchange, sent(exchange, Expected(422, expected.media_type, expected.body)))]
    )
    assert other != bare


def test_the_corpus_asks_for_every_part_and_status() -> None:
    statuses = {(one.part, one.expected.status) for one in corpus()}
    assert {part for part, status in statuses if status == 200} == {one.part for one in corpus()}
    assert {("text", 404), ("mongo", 400), ("sleep", 400), ("files", 404)} <= statuses


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
