"""Databases that are away, start, stop or stay silent, and recover."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from conformance.expect import Mismatch, holds, problem, right, same
from conformance.http import Response
from conformance.marks import catches, control, serves
from conformance.subject import Controlled
from harness.system.processes import wait_until

pytestmark = [control, serves("mongo", "agents", "gridfs")]

TARGETS = ("/mongo", "/gridfs/photo.jpg", "/agents")  # endpoints that need a database

# Seconds within which a request is a 503 while its database refuses connections
LATEST = 5.0
SILENT = 8.0  # the same while the database accepts connections and stays silent
# Seconds within which endpoints are served again after their database has recovered
RECOVERY = 10.0


def _ask(controlled: Controlled, target: str) -> tuple[Response, float]:
    start = time.monotonic()
    response = controlled.ask(target, timeout=4 * LATEST)
    return response, time.monotonic() - start


@catches("database-500", "database-waited-for", "outage-stops-everything", "stays-unavailable")
def test_an_outage(controlled: Controlled) -> None:
    for target in TARGETS:
        right(controlled.ask(target))
    with controlled.mongodb.in_state("refusing"), controlled.postgresql.in_state("refusing"):
        _are_unavailable(controlled, TARGETS, LATEST)
    _come_back(controlled)


@catches("silence-waited-for", "mongodb-silence-waited-for")
def test_silent_databases(controlled: Controlled) -> None:
    """MongoDB never answers on open connections, PostgreSQL on new ones."""
    for target in TARGETS:
        right(controlled.ask(target))
    with controlled.mongodb.in_state("hanging"), controlled.postgresql.in_state("hanging"):
        controlled.postgresql.cut()
        _are_unavailable(controlled, ("/mongo", "/agents"), SILENT)
    _come_back(controlled)


def _are_unavailable(controlled: Controlled, targets: Sequence[str], latest: float) -> None:
    """A server that is late is late each time; one whose machine paused is not."""
    for _ in range(2):
        try:
            return _answer_in_time(controlled, targets, latest)
        except Mismatch as error:
            if error.what != "time":
                raise
    _answer_in_time(controlled, targets, latest)


def _answer_in_time(controlled: Controlled, targets: Sequence[str], latest: float) -> None:
    """Each is a 503 in time; meanwhile a concurrent deployment serves /index."""
    together = len(targets) if controlled.deployment.concurrent else 1
    with ThreadPoolExecutor(together) as pool:
        requests = [pool.submit(_ask, controlled, target) for target in targets]
        if controlled.deployment.concurrent:
            index, took = _ask(controlled, "/index")
            right(index)
            holds("time", f"under {LATEST:.0f} s", took < LATEST, f"{took:.1f} s", index)
        for one in requests:
            response, took = one.result()
            problem(response, 503)
            holds("time", f"under {latest:.0f} s", took < latest, f"{took:.1f} s", response)


def _come_back(controlled: Controlled) -> None:
    deadline = time.monotonic() + RECOVERY
    for target in TARGETS:
        response = controlled.ask(target)
        while response.status != 200 and time.monotonic() < deadline:
            time.sleep(0.1)
            response = controlled.ask(target)
        same(f"status {RECOVERY:.0f} s after the recovery", 200, response.status, response)


@contextmanager
def _recovers(controlled: Controlled) -> Iterator[None]:
    try:
        yield
    finally:
        controlled.postgresql.set("open")
        wait_until(lambda: controlled.ask("/agents").status == 200, timeout=RECOVERY)


@pytest.mark.parametrize("sqlstate", ["57P03", "53300"])
@catches("database-500", "rejection-500")
def test_postgresql_rejects_connections(controlled: Controlled, sqlstate: str) -> None:
    """It is starting (57P03, cannot_connect_now), or has no connection left (53300)."""
    with _recovers(controlled):
        controlled.postgresql.reject(sqlstate)
        time.sleep(0.1)  # for open connections to be closed
        problem(controlled.ask("/agents"), 503)


@catches("termination-500")
def test_postgresql_ends_connections(controlled: Controlled) -> None:
    """57P01 (admin_shutdown) on open connections, while new ones are served: 503 or 200."""
    with _recovers(controlled):
        right(controlled.ask("/agents"))
        controlled.postgresql.reject("57P01")
        controlled.postgresql.set("open")
        response = controlled.ask("/agents")
        if response.status != 200:
            problem(response, 503)
