"""/sleep: at least as long as asked."""

import time

import pytest

import spec
from conformance.expect import JSON, answer, holds
from conformance.faults import catches
from conformance.needs import serves
from conformance.subject import Subject

pytestmark = serves("sleep")


@pytest.mark.parametrize(("query", "ms"), [("", 1000), ("?ms=300", 300), ("?ms=0", 0)])
@catches("sleeps-not", "sleeps-short", "sleeps-twice")
def test_sleeps(subject: Subject, query: str, ms: int) -> None:
    start = time.monotonic()
    response = subject.ask(f"/sleep{query}")
    took = (time.monotonic() - start) * 1000
    answer(response, JSON, spec.json_body({"slept_ms": ms}))
    holds("time", f"{ms} to {ms + 700} ms", ms <= took < ms + 700, f"{took:.1f} ms", response)
