"""What one request does to others, with ``WORKERS=1``."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import spec
from conformance.expect import JSON, TEXT, answer, holds
from conformance.faults import catches
from conformance.http import Request, Response
from conformance.needs import control, each_endpoint, serves
from conformance.subject import Controlled, Subject


@control
@serves("sleep")
@catches("one-at-a-time", "concurrency-claimed-none")
def test_a_slow_request_leaves_others_alone(controlled: Controlled) -> None:
    """Both ways: a deployment that says that it serves one at a time is shown to."""
    slow = Request("/sleep?ms=1200")
    with controlled.connect() as connection:
        connection.send(slow.encode("x"))
        time.sleep(0.1)
        start = time.monotonic()
        other = controlled.ask("/index")
        took = time.monotonic() - start
        answer(other, TEXT, b"Hello, World!")
        answer(connection.receive(slow), JSON, spec.json_body({"slept_ms": 1200}))
    concurrent = controlled.deployment.concurrent
    expected = "under 0.6 s" if concurrent else "over 0.6 s, one after the other"
    holds("time of /index while another sleeps", expected, (took < 0.6) == concurrent, took, other)


@control
@serves("sleep")
@catches("one-at-a-time", "two-at-a-time")
def test_forty_sleep_together(controlled: Controlled) -> None:
    if not controlled.deployment.concurrent:
        return
    start = time.monotonic()
    with ThreadPoolExecutor(40) as pool:
        responses = list(pool.map(controlled.ask, ["/sleep?ms=800"] * 40))
    took = time.monotonic() - start
    for response in responses:
        answer(response, JSON, spec.json_body({"slept_ms": 800}))
    holds("time for 40 sleeps of 0.8 s", "under 2.4 s", took < 2.4, f"{took:.2f} s", responses[0])


@control
@catches("one-at-a-time")
def test_slow_clients_leave_others_alone(controlled: Controlled) -> None:
    if not controlled.deployment.concurrent:
        return
    slow = [controlled.connect() for _ in range(20)]
    try:
        for number, connection in enumerate(slow):
            connection.send(b"GET /index HTTP/1.1\r\nHost: x\r\nX-A: b"[: 5 + 2 * number])
        time.sleep(0.1)
        start = time.monotonic()
        response = controlled.ask("/index")
        took = time.monotonic() - start
    finally:
        for connection in slow:
            connection.socket.close()
    answer(response, TEXT, b"Hello, World!")
    holds("time of /index", "under 1 s", took < 1, f"{took:.2f} s", response)


@each_endpoint
@catches("mixed-up")
def test_many_at_once_get_their_own_answers(subject: Subject, target: str) -> None:
    """Requests that overlap, each for something else, get what they asked for."""
    asked = [target, "/index", target, "/json"] * 15
    with ThreadPoolExecutor(20) as pool:
        responses: list[Response] = list(pool.map(subject.ask, asked))
    alone = {one: subject.ask(one) for one in set(asked)}
    for one, response in zip(asked, responses, strict=True):
        answer(response, alone[one].content_type or "", alone[one].body)


@control
@pytest.mark.parametrize("connections", [300])
@catches("drops-many")
def test_many_connections(controlled: Controlled, connections: int) -> None:
    """All are open at once; each is answered in its turn."""
    if not controlled.deployment.concurrent:
        return
    opened = []
    try:
        for _ in range(connections):
            opened.append(controlled.connect())
        for connection in opened:
            connection.send(Request("/index", headers=(("Connection", "close"),)).encode("x"))
        for connection in opened:
            answer(connection.receive(Request("/index")), TEXT, b"Hello, World!")
    finally:
        for connection in opened:
            connection.socket.close()
