"""/sleep: takes at least as long as requested."""

import time

import pytest

from conformance.expect import holds, right
from conformance.marks import catches, serves
from conformance.subject import Subject


@serves("sleep")
@pytest.mark.parametrize(("query", "ms"), [("", 1000), ("?ms=300", 300)])
@catches("sleeps-not", "sleeps-short")
def test_sleeps(subject: Subject, query: str, ms: int) -> None:
    start = time.monotonic()
    response = subject.ask(f"/sleep{query}")
    took = (time.monotonic() - start) * 1000
    right(response)
    holds("time", f"at least {ms} ms", ms <= took, f"{took:.1f} ms", response)
