"""Databases that go away and come back, while everything else goes on."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance.contract.conftest import Start
from conformance.expect import TEXT, answer, holds, problem, same
from conformance.faults import catches
from conformance.http import Response
from conformance.needs import control, serves
from conformance.proxy import State
from conformance.subject import Controlled
from harness.ports import free_port

pytestmark = [control, serves("mongo", "agents", "gridfs")]

TARGETS = ("/mongo", "/gridfs/photo.jpg", "/agents")
"""What needs a database."""


def _ask(controlled: Controlled, target: str) -> tuple[Response, float]:
    start = time.monotonic()
    response = controlled.ask(target)
    return response, time.monotonic() - start


def _are_unavailable(controlled: Controlled) -> None:
    """Each endpoint that needs a database is 503 within 3 s, and /index is as usual."""
    together = len(TARGETS) if controlled.deployment.concurrent else 1
    with ThreadPoolExecutor(together) as pool:
        asked = [pool.submit(_ask, controlled, target) for target in TARGETS]
        for one in asked:
            response, took = one.result()
            problem(response, 503)
            holds("time", "under 3 s", took < 3, f"{took:.1f} s", response)
    response, took = _ask(controlled, "/index")
    answer(response, TEXT, b"Hello, World!")
    holds("time", "under 1 s", took < 1, f"{took:.1f} s", response)


def _come_back(controlled: Controlled) -> None:
    """Each endpoint is 200 within 5 s."""
    deadline = time.monotonic() + 5
    for target in TARGETS:
        response = controlled.ask(target)
        while response.status != 200 and time.monotonic() < deadline:
            time.sleep(0.1)
            response = controlled.ask(target)
        same("status, 5 s after the database's return", 200, response.status, response)


@pytest.mark.parametrize("state", ["refusing", "hanging"])
@catches("database-500", "database-waited-for", "no-retry-after", "stays-unavailable")
@catches("outage-stops-everything")
def test_an_outage(controlled: Controlled, state: State) -> None:
    for target in TARGETS:
        same("status", 200, controlled.ask(target).status, controlled.ask(target))
    controlled.mongodb.set(state)
    controlled.postgresql.set(state)
    try:
        _are_unavailable(controlled)
    finally:
        controlled.mongodb.set("open")
        controlled.postgresql.set("open")
    _come_back(controlled)


@catches("needs-database-at-start")
def test_starting_while_databases_are_away(start_another: Start) -> None:
    away = {
        "MONGODB_URL": f"mongodb://127.0.0.1:{free_port()}/refservers",
        "DATABASE_URL": f"postgresql://refservers@127.0.0.1:{free_port()}/refservers",
    }
    with start_another(away) as other:
        _are_unavailable(other)
