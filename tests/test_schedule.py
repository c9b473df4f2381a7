"""A constant rate of h2load: response times count from when requests were due."""

import asyncio
import time
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bench.generators import generate, h2load
from bench.generators.schedule import at_once, follow, reschedule
from bench.records.measurement import Errors
from tests.attempts import attempts
from tests.loads import Put, in_thread, load_spec

pytestmark = [pytest.mark.alone, pytest.mark.timeout(180)]

PERIOD, FREEZE = 3.0, 2.0


def test_each_connection_has_a_schedule_of_its_own() -> None:
    """Two connections, a request every 10; the first one's second response takes 25."""
    starts = np.array([0, 5, 10, 15, 25, 35, 35, 36, 40, 45.0])
    took = np.array([1, 1, 25, 1, 1, 1, 1, 1, 1, 1.0])
    due, late = follow(starts, took, clients=2, interval=10)
    assert sorted(due) == [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]
    assert late.max() == 0
    assert (starts - due).max() == 15  # the request that was due at 20, while it waited


def test_a_connection_may_be_opened_after_others_have_sent_again() -> None:
    """Two connections, a request every 10; the second is opened at 25."""
    starts = np.array([0, 10, 20, 25, 30, 35, 40, 45.0])
    due, late = follow(starts, np.ones(8), clients=2, interval=10)
    assert list(due) == list(starts)
    assert late.max() == 0


def test_connections_of_one_request_are_due_when_they_are_opened() -> None:
    """Two every 10; from 20 on, the server accepts none for a while."""
    starts = np.array([0, 0, 10, 11, 45, 45, 45, 45.0])
    due, late = at_once(starts, np.ones(8), count=2, period=10)
    assert list(due) == [0, 0, 10, 10, 20, 20, 30, 30]
    assert late.max() == 0


def test_a_tick_of_the_generator_is_no_response_time(tmp_path: Path) -> None:
    """One connection, a request every 10 ms; the second is sent a tick late, the third two."""
    log = tmp_path / "log"
    sent = "0\t200\t100\n11000\t200\t100\n22000\t200\t100\n30500\t200\t100\n"
    due = partial(follow, clients=1, interval=10_000)
    for judged, lag in (((0, 1), 2), ((0.03, 1), 0.5), ((0, 0.02), 1)):
        log.write_text(sent)
        assert reschedule(log, due, judged) == pytest.approx(lag, rel=0.02)
    rows = [[0, 200, 100], [11000, 200, 100], [21000, 200, 1100], [30500, 200, 100]]
    assert np.loadtxt(log).tolist() == rows


def freezing() -> AbstractContextManager[int]:
    """A server that stands still for two of every three seconds."""
    began = time.monotonic()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                left = PERIOD - (time.monotonic() - began) % PERIOD
                if left < FREEZE:
                    time.sleep(left)  # so does each other connection: there is one thread
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        writer.close()

    return in_thread(answer)


@pytest.mark.usefixtures("generators")
@attempts(5)  # this machine may be too busy to send the requests on time
def test_a_stall_is_not_hidden(tmp_path: Path) -> None:
    """Two thirds of the requests are due during a freeze, and wait until its end.

    A connection has two of them; only the median shows that the second waits, too.
    """
    # With answers to all that waited, and a sleep that ends late on a busy machine: 5%
    theory = pytest.approx({"p50": 500, "p75": 1250, "p90": 1700, "p99": 1970}, abs=100)
    with freezing() as port:
        result = generate(load_spec(tmp_path, port, "/", level=200.0, duration=2 * PERIOD))
    assert result.latency
    assert result.latency.model_dump(include={"p50", "p75", "p90", "p99"}) == theory
    assert (result.requests, result.errors) == (200 * 2 * PERIOD, Errors())


@pytest.mark.parametrize(
    ("path", "errors"),
    [
        ("/", Errors()),
        ("/wrong", Errors(status=200)),
        ("/late", Errors(timeout=100, unfinished=100)),
        (None, Errors(connect=200)),  # no server listens
    ],
)
@attempts(3)
def test_every_request_that_is_due_counts(
    put: Put, port: int, path: str | None, errors: Errors
) -> None:
    """At 100 requests per second for 2 s, with a timeout of 0.5 s."""
    spec = {"level": 100.0, "duration": 2.0, "timeout": 0.5}
    result = put(path or "/", port=port if path else 9, **spec)
    assert result.attempts == 200 == result.requests + result.errors.total
    if path == "/late":
        assert result.errors.timeout >= 100
    else:
        assert result.errors == errors
    assert result.seconds >= 1.9
    assert result.latency
    assert (result.latency.max is None) == bool(errors.total)


@attempts(3)
def test_a_server_that_closes_each_connection_gets_its_rate(put: Put) -> None:
    result = put("/closing", level=50.0, duration=2.0, keep_alive=False)
    assert (result.requests, result.errors) == (100, Errors())
    assert all(40 <= second <= 60 for second in result.per_second[:2])


def test_no_connection_carries_more_requests_than_its_server_takes(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two connections would be enough otherwise."""
    monkeypatch.setattr(h2load, "MOST_CLIENTS", 2)
    result = put("/hundred", level=200.0, duration=2.0, most_calls=100)
    assert "--clients 4 " in " ".join(result.command)
    assert (result.requests, result.errors) == (400, Errors())


@attempts(3)
def test_no_percentile_counts_what_is_due_while_connections_are_opened(put: Put) -> None:
    """The first response of each connection takes a second."""
    load = partial(put, "/late-once", level=20.0, duration=3.0)
    results = [load(opening=opening) for opening in (2.0, 0.0)]
    assert [one.requests for one in results] == [60, 60]
    judged, whole = (one.latency.p90 or 0 for one in results if one.latency)
    assert 0 < judged < 500 < whole
