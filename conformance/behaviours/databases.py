"""The groups `databases`, which are away, hang or are busy, and `upstream`, what reaches it."""

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from conformance.behaviours.lab import Lab, asks
from conformance.http import FAILED, Closed, Request, Silence
from conformance.instance import launched
from conformance.subject import Controlled, Subject
from harness.system.ports import free_port
from harness.system.processes import wait_until

_MONGODB, _POSTGRESQL = "/mongo", "/agents"  # endpoints that need one of them

# Seconds between the usual timeouts (3, 5, 10, 15 and 30), not close to any of them
_SOON, _LATEST = 8.0, 12.0
_RECOVERY = 10.0  # seconds that a server may take to recover (contract)


def _status(server: Subject, target: str) -> int | None:
    """The status of a response; None if none comes in time."""
    try:
        return server.ask(target, timeout=_LATEST).status
    except FAILED:
        return None


@contextmanager
def _connected(lab: Lab) -> Iterator[Controlled]:
    """A server connected to PostgreSQL: a new one if an earlier question broke the first."""
    with ExitStack() as held:
        server = lab.controlled
        if _status(server, _POSTGRESQL) != 200:
            server = held.enter_context(lab.controlled.another())
            assert _status(server, _POSTGRESQL) == 200, f"{_POSTGRESQL} is not served"
        yield server


@asks("mongodb-starts", "mongo", lane="alone")
def starts(lab: Lab) -> str:
    """Start a server while MongoDB refuses connections."""
    refusing = lab.controlled.mongodb.address.through(free_port())
    with launched(lab.controlled, MONGODB_URL=refusing) as server:
        serves = server.serves()
        status = _status(server, _MONGODB) if serves else None
        if server.has_ended:
            return "ends"
        if not serves:
            return "serves nothing"
        return "answers 503" if status == 503 else "answers otherwise"


@asks("postgresql-cut", "agents", lane="alone")
def cut(lab: Lab) -> str:
    """It counts as recovered after ten requests in a row are served."""
    with _connected(lab) as server:
        with ThreadPoolExecutor(4) as pool:  # so that there are several connections
            list(pool.map(lambda target: _status(server, target), [_POSTGRESQL] * 4))
        server.postgresql.cut()
        time.sleep(2)  # a driver that checks its idle connections has noticed
        deadline = time.monotonic() + _RECOVERY
        failed, served = False, 0
        while served < 10:
            if _status(server, _POSTGRESQL) == 200:
                served += 1
                continue
            failed, served = True, 0
            if time.monotonic() > deadline:
                return "errors for longer"
            time.sleep(0.1)
        return "errors, then served" if failed else "served"


@asks("postgresql-hangs", "agents", lane="alone")
def hangs(lab: Lab) -> str:
    """On connections that are open."""
    with _connected(lab) as server:
        time.sleep(1)  # HikariCP does not test a connection that was used in the last 500 ms
        with server.postgresql.in_state("hanging"), server.connect(_SOON) as connection:
            try:
                connection.request(Request(_POSTGRESQL))
            except Silence:
                return "none within 8 s"
            except Closed:
                pass
            return "an answer within 8 s"


@asks("postgresql-hangs-many", "agents", lane="alone")
def hangs_many(lab: Lab) -> str:
    """Half as many requests again as there are threads: is /index answered before them?"""
    with (
        lab.controlled.another(THREADS="8", DATABASE_POOL_SIZE="2") as server,
        server.postgresql.in_state("hanging"),
        ExitStack() as held,
    ):
        before = server.postgresql.sent
        waiting = [held.enter_context(server.connect(_LATEST)) for _ in range(12)]
        for connection in waiting:
            connection.send(Request(_POSTGRESQL).encode("x"))
        wait_until(lambda: server.postgresql.sent > before, timeout=lab.patience)
        time.sleep(0.5)
        if _status(server, "/index") != 200:
            return "not served"
        return "served late" if any(one.is_readable() for one in waiting) else "served"


# The upstream

_CALLS = 4


def _read(lab: Lab, name: str, *values: str) -> set[str]:
    """The ids with which the upstream is called, of these and their list; or ``refused``."""
    request = Request("/slow_api?calls=1&ms=0", headers=tuple((name, one) for one in values))
    if lab.server.ask(request, timeout=lab.patience).status >= 400:
        return {"refused"}
    possible = {*values, ",".join(values), ", ".join(values)}
    return {id for id in possible if lab.controlled.upstream_calls(id)["calls"]}


@asks("client-leaves", "slow_api", control=True)
def client_leaves(lab: Lab) -> str:
    """The calls take longer than their end is waited for."""
    id = uuid.uuid4().hex

    def in_flight() -> int:
        return lab.controlled.upstream_calls(id)["in_flight"]

    request = Request(f"/slow_api?calls={_CALLS}&ms=5000", headers=(("X-Request-Id", id),))
    with lab.server.connect() as connection:
        connection.send(request.encode("x"))
        assert wait_until(lambda: in_flight() == _CALLS, timeout=lab.patience), "no calls"
    return "stopped" if wait_until(lambda: in_flight() == 0, timeout=2.5) else "go on"


@asks("underscored-header", "slow_api", control=True)
def underscored_header(lab: Lab) -> str:
    """Without the right header, so that none can take precedence."""
    read = _read(lab, "X_Request_Id", uuid.uuid4().hex)
    return "ignored" if not read else "refused" if "refused" in read else "taken"


@asks("repeated-header", "slow_api", control=True)
def repeated_header(lab: Lab) -> str:
    """Two values that no other request has."""
    first, last = uuid.uuid4().hex, uuid.uuid4().hex
    read = _read(lab, "X-Request-Id", first, last)
    named = {"refused": "refused", first: "the first", last: "the last"}
    return named.get(min(read), "joined") if read else "neither"
