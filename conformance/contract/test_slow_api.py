"""/slow_api: the fan-out is concurrent and ordered; a failing upstream is 502, a late one 504."""

import time
import uuid

import pytest

from conformance.expect import holds, problem, right, same
from conformance.http import Request
from conformance.marks import catches, control, serves
from conformance.subject import Controlled

pytestmark = [serves("slow_api"), control]


def _request(query: str, request_id: str) -> Request:
    return Request(f"/slow_api{query}", headers=(("X-Request-Id", request_id),))


@pytest.mark.parametrize(("query", "calls"), [("", 10), ("?calls=50&ms=3000", 50)])
@catches("fan-out-sequential", "fan-out-narrow", "fan-out-twice", "request-id-dropped")
def test_calls_are_in_flight_together(controlled: Controlled, query: str, calls: int) -> None:
    for _ in range(3):  # the machine may pause while some calls are already being answered
        request_id = uuid.uuid4().hex
        response = controlled.ask(_request(query, request_id), timeout=30)
        right(response)
        stats = controlled.upstream_calls(request_id)
        same("calls with the request's X-Request-Id", calls, stats["calls"], response)
        if stats["most_in_flight"] == calls:
            return
    same("calls in flight at once", calls, stats["most_in_flight"], response)


FAILURES = {
    "status": "upstream-status-ignored",
    "redirect": "upstream-redirects-followed",
    "text": "upstream-text-500",
    "array": "upstream-array-passed",
    "truncated": "upstream-cut-500",
}


@pytest.mark.parametrize(
    "failure",
    [pytest.param(name, marks=pytest.mark.catches(fault)) for name, fault in FAILURES.items()],
)
@catches("upstream-failed-504")
def test_an_upstream_that_fails(controlled: Controlled, failure: str) -> None:
    request_id = uuid.uuid4().hex
    controlled.fail_upstream(request_id, failure)
    problem(controlled.ask(_request("?calls=3&ms=1", request_id)), 502)


@catches("upstream-waited-for", "upstream-late-502")
def test_an_upstream_that_is_late(controlled: Controlled) -> None:
    request_id = uuid.uuid4().hex
    controlled.fail_upstream(request_id, "hang")
    start = time.monotonic()
    response = controlled.ask(_request("?calls=2&ms=1", request_id), timeout=15)
    took = time.monotonic() - start
    problem(response, 504)
    holds("time", "at least 5 s", took >= 5, f"{took:.1f} s", response)


@catches("upstream-refusal-500")
def test_an_upstream_that_refuses(lacking: Controlled) -> None:
    problem(lacking.ask("/slow_api?calls=2&ms=0"), 502)
    right(lacking.ask("/index"))
