"""/slow_api: the fan-out, together and in order, and what a failing upstream becomes."""

import json
import time
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import spec
from conformance.contract.conftest import Start
from conformance.expect import JSON, answer, holds, problem, same
from conformance.faults import catches
from conformance.http import Response
from conformance.needs import control, serves
from conformance.subject import Controlled
from harness.ports import free_port
from harness.upstream import token

pytestmark = [serves("slow_api"), control]


class Upstream:
    """The upstream's own account of a request's calls."""

    def __init__(self, url: str) -> None:
        self.url = url

    def stats(self, request_id: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}stats?id={request_id}", timeout=5) as told:
            stats: dict[str, Any] = json.load(told)
            return stats

    def fail(self, request_id: str, fault: str) -> None:
        url = f"{self.url}faults?id={request_id}&fault={fault}"
        urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=5).close()


@pytest.fixture
def upstream(controlled: Controlled) -> Upstream:
    return Upstream(controlled.services.slow_api_url)


def new_id() -> str:
    return uuid.uuid4().hex


def results(calls: int) -> bytes:
    return spec.json_body({"results": [{"call": i, "token": token(i)} for i in range(calls)]})


@catches("fan-out-sequential", "fan-out-unordered", "fan-out-invented", "fan-out-narrow")
def test_ten_calls_of_a_second_take_a_second(controlled: Controlled, upstream: Upstream) -> None:
    request_id = new_id()
    start = time.monotonic()
    response = controlled.ask("/slow_api", headers={"X-Request-Id": request_id}, timeout=15)
    took = time.monotonic() - start
    answer(response, JSON, results(10))
    holds("time", "1 to 2 s", 1 <= took < 2, f"{took:.2f} s", response)
    stats = upstream.stats(request_id)
    same("calls with the request's X-Request-Id", 10, stats["calls"], response)
    same("calls in flight together", 10, stats["most_in_flight"], response)


@catches("request-id-dropped", "fan-out-narrow", "fan-out-twice")
def test_fifty_calls_are_in_flight_together(controlled: Controlled, upstream: Upstream) -> None:
    request_id = new_id()
    headers = {"x-request-id": request_id}
    response = controlled.ask("/slow_api?calls=50&ms=400", headers=headers)
    answer(response, JSON, results(50))
    stats = upstream.stats(request_id)
    same("calls with the request's X-Request-Id", 50, stats["calls"], response)
    same("calls in flight together", 50, stats["most_in_flight"], response)


@catches("request-id-invented")
def test_no_request_id_is_made_up(controlled: Controlled, upstream: Upstream) -> None:
    before = upstream.stats("")["calls"]
    response = controlled.ask("/slow_api?calls=7&ms=0")
    answer(response, JSON, results(7))
    made = upstream.stats("")["calls"] - before
    holds("calls without X-Request-Id", "at least 7", made >= 7, made, response)


@catches("fan-out-limited")
def test_requests_do_not_wait_for_each_others_calls(
    controlled: Controlled, upstream: Upstream
) -> None:
    """Fifteen requests of ten calls: each has all ten in flight together."""
    requests = 15
    if not controlled.deployment.concurrent:
        requests = 1
    ids = [uuid.uuid4().hex for _ in range(requests)]

    def ask(request_id: str) -> Response:
        return controlled.ask("/slow_api?ms=1500", headers={"X-Request-Id": request_id})

    start = time.monotonic()
    with ThreadPoolExecutor(requests) as pool:
        responses = list(pool.map(ask, ids))
    took = time.monotonic() - start
    for request_id, response in zip(ids, responses, strict=True):
        answer(response, JSON, results(10))
        same("calls", 10, upstream.stats(request_id)["calls"], response)
        together = upstream.stats(request_id)["most_in_flight"]
        same("calls in flight together", 10, together, response)
    holds("time for all", "under 2.9 s", took < 2.9, f"{took:.2f} s", responses[0])


@pytest.mark.parametrize("fault", ["status", "redirect", "text", "array", "truncated"])
@catches("upstream-status-ignored", "upstream-redirects-followed", "upstream-text-500")
@catches("upstream-array-passed", "upstream-cut-500")
def test_an_upstream_that_fails(controlled: Controlled, upstream: Upstream, fault: str) -> None:
    request_id = new_id()
    upstream.fail(request_id, fault)
    headers = {"X-Request-Id": request_id}
    problem(controlled.ask("/slow_api?calls=3&ms=1", headers=headers), 502)


@catches("upstream-waited-for", "upstream-timeout-502")
def test_an_upstream_that_is_late(controlled: Controlled, upstream: Upstream) -> None:
    request_id = new_id()
    upstream.fail(request_id, "hang")
    start = time.monotonic()
    headers = {"X-Request-Id": request_id}
    response = controlled.ask("/slow_api?calls=2&ms=1", headers=headers, timeout=9)
    took = time.monotonic() - start
    problem(response, 504)
    holds("time", "5 to 6.5 s", 4.9 <= took < 6.5, f"{took:.1f} s", response)


@catches("upstream-refusal-500")
def test_an_upstream_that_is_away(start_another: Start) -> None:
    with start_another({"SLOW_API_URL": f"http://127.0.0.1:{free_port()}/"}) as other:
        problem(other.ask("/slow_api?calls=2&ms=0"), 502)
        answer(other.ask("/index"), "text/plain; charset=utf-8", b"Hello, World!")
