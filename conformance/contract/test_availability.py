"""Databases that refuse connections, and recover."""

import time
from concurrent.futures import ThreadPoolExecutor

from conformance.expect import holds, problem, right, same
from conformance.faults import catches
from conformance.http import Response
from conformance.needs import control, serves
from conformance.subject import Controlled

pytestmark = [control, serves("mongo", "agents", "gridfs")]

TARGETS = ("/mongo", "/gridfs/photo.jpg", "/agents")
"""Endpoints that need a database."""

LATEST = 5.0
"""Seconds within which a request is a 503 while its database refuses connections."""
RECOVERY = 10.0
"""Seconds within which endpoints are served again after their database has recovered."""


def _ask(controlled: Controlled, target: str) -> tuple[Response, float]:
    start = time.monotonic()
    response = controlled.ask(target, timeout=4 * LATEST)
    return response, time.monotonic() - start


@catches("database-500", "database-waited-for", "outage-stops-everything", "stays-unavailable")
def test_an_outage(controlled: Controlled) -> None:
    for target in TARGETS:
        right(controlled.ask(target))
    controlled.mongodb.set("refusing")
    controlled.postgresql.set("refusing")
    try:
        _are_unavailable(controlled)
    finally:
        controlled.mongodb.set("open")
        controlled.postgresql.set("open")
    _come_back(controlled)


def _are_unavailable(controlled: Controlled) -> None:
    """Each is a 503 in time; meanwhile a concurrent deployment serves /index."""
    together = len(TARGETS) if controlled.deployment.concurrent else 1
    with ThreadPoolExecutor(together) as pool:
        requests = [pool.submit(_ask, controlled, target) for target in TARGETS]
        if controlled.deployment.concurrent:
            index, took = _ask(controlled, "/index")
            right(index)
            holds("time", f"under {LATEST:.0f} s", took < LATEST, f"{took:.1f} s", index)
        for one in requests:
            response, took = one.result()
            problem(response, 503)
            holds("time", f"under {LATEST:.0f} s", took < LATEST, f"{took:.1f} s", response)


def _come_back(controlled: Controlled) -> None:
    deadline = time.monotonic() + RECOVERY
    for target in TARGETS:
        response = controlled.ask(target)
        while response.status != 200 and time.monotonic() < deadline:
            time.sleep(0.1)
            response = controlled.ask(target)
        same(f"status {RECOVERY:.0f} s after the recovery", 200, response.status, response)
