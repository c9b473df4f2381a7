"""How long requests take, and how they affect each other, with ``WORKERS=1``."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance.expect import holds, right
from conformance.http import Request
from conformance.marks import catches, control, each_endpoint, serves
from conformance.subject import Controlled, Subject


@serves("sleep")
@pytest.mark.parametrize(("query", "ms"), [("", 1000), ("?ms=300", 300)])
@catches("sleeps-not", "sleeps-short")
def test_sleeps(subject: Subject, query: str, ms: int) -> None:
    """Timers of libuv count whole milliseconds from one already begun, so 1 ms may be missing."""
    start = time.monotonic()
    response = subject.ask(f"/sleep{query}")
    took = (time.monotonic() - start) * 1000
    right(response)
    holds("time", f"at least {ms - 1} ms", ms - 1 <= took, f"{took:.1f} ms", response)


@control
@serves("sleep")
@catches("one-at-a-time")
def test_a_slow_request_does_not_block_others(controlled: Controlled) -> None:
    """Both ways: exactly the deployments declared concurrent answer others before the slow one."""
    slow = Request("/sleep?ms=2500")
    with controlled.connect() as connection:
        connection.send(slow.encode("x"))
        right(controlled.ask("/index"))
        overtaken = not connection.is_readable()
        right(connection.receive(slow))
    concurrent = controlled.deployment.concurrent
    assert overtaken == concurrent, (
        f"/index is {'' if overtaken else 'not '}answered during /sleep; "
        f"the manifest says concurrent = {str(concurrent).lower()}"
    )


@each_endpoint
@catches("mixed-up")
def test_many_at_once_get_their_own_answers(subject: Subject, target: str) -> None:
    """Concurrent requests for different targets get the right responses."""
    with ThreadPoolExecutor(20) as pool:
        for response in pool.map(subject.ask, [target, "/index", target, "/json"] * 15):
            right(response)
