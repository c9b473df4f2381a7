"""The group `databases`: each question is asked about MongoDB and about PostgreSQL."""

import select
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import spec
from conformance import address
from conformance.behaviours.instance import launched
from conformance.behaviours.lab import Lab, asks, asks_several
from conformance.behaviours.process import FAILED, INDEX, PASSWORD
from conformance.http import Closed, Connection, Request, Silence
from conformance.proxy import Proxy, State
from conformance.subject import Controlled, Subject
from harness.processes import wait_until

_SOON, _LATEST = 8.0, 12.0
"""Seconds between the usual timeouts (3, 5, 10, 15 and 30), not close to any of them."""
_RECOVERY = 10.0
"""Seconds that a server may take to recover (contract)."""
_POOL = 2
_CROWD = 10 * _POOL


@dataclass(frozen=True)
class _Database:
    name: str
    part: spec.Part
    setting: str
    monitors: int
    """Connections that drivers open besides the pool to monitor it."""

    @property
    def target(self) -> str:
        return f"/{self.part}"

    def proxy(self, server: Controlled) -> Proxy:
        return server.mongodb if self.part == "mongo" else server.postgresql

    @contextmanager
    def refusing(self, lab: Lab) -> Iterator[Proxy]:
        """A proxy to it that refuses connections."""
        services = lab.controlled.services
        if self.part == "mongo":
            there = address.mongodb(services.mongodb_url)
        else:
            there = address.postgresql(services.database_url)
        with Proxy(there).running() as proxy:
            proxy.set("refusing")
            yield proxy


_MONGODB = _Database("mongodb", "mongo", "MONGODB_URL", monitors=2)
_POSTGRESQL = _Database("postgresql", "agents", "DATABASE_URL", monitors=0)


def _status(server: Subject, target: str, timeout: float = _LATEST) -> int | None:
    """The status of a response; None if none comes in time."""
    try:
        return server.ask(target, timeout=timeout).status
    except FAILED:
        return None


@contextmanager
def _connected(database: _Database, lab: Lab) -> Iterator[Controlled]:
    """A server connected to the database: a new one if an earlier question broke the first."""
    with ExitStack() as held:
        server = lab.controlled
        if _status(server, database.target) != 200:
            server = held.enter_context(lab.start())
            assert _status(server, database.target) == 200, f"{database.target} is not served"
        yield server


@contextmanager
def _while(state: State, database: _Database, server: Controlled) -> Iterator[Proxy]:
    proxy = database.proxy(server)
    proxy.set(state)
    try:
        yield proxy
    finally:
        proxy.set("open")


@contextmanager
def _asking(server: Subject, target: str, count: int = 1) -> Iterator[list[Connection]]:
    """Connections that have each sent a request for ``target``."""
    with ExitStack() as held:
        connections = [held.enter_context(server.connect(_LATEST)) for _ in range(count)]
        for connection in connections:
            connection.send(Request(target).encode("x"))
        yield connections


# Unavailable at start, and cut connections


def _starts(database: _Database, lab: Lab) -> dict[str, str]:
    """Start a server while the database, whose URL has a password, refuses connections."""
    with database.refusing(lab) as proxy:
        url = proxy.url_with(user=f"refservers:{PASSWORD}")
        with launched(lab, **{database.setting: url}) as server:
            serves = server.serves()
            status = _status(server, database.target) if serves else None
            if server.has_ended:
                starts = "ends"
            elif not serves:
                starts = "serves nothing"
            else:
                starts = "answers 503" if status == 503 else "answers otherwise"
            shown = PASSWORD in server.written()
    return {
        f"{database.name}-starts": starts,
        f"{database.name}-password": "shown" if shown else "not shown",
    }


def _retry_after(lab: Lab) -> str:
    with _connected(_POSTGRESQL, lab) as server, _while("refusing", _POSTGRESQL, server):
        response = server.ask(_POSTGRESQL.target, timeout=_LATEST)
        assert response.status == 503, f"{response.status} instead of 503"
        return "sent" if response.header("Retry-After") else "not sent"


def _cut(database: _Database, lab: Lab) -> str:
    """It counts as recovered after ten requests in a row are served."""
    with _connected(database, lab) as server:
        with ThreadPoolExecutor(4) as pool:  # so that there are several connections
            list(pool.map(partial(_status, server), [database.target] * 4))
        database.proxy(server).cut()
        time.sleep(2)  # a driver that checks its idle connections has noticed
        deadline = time.monotonic() + _RECOVERY
        failed, served = False, 0
        while served < 10:
            if _status(server, database.target) == 200:
                served += 1
                continue
            failed, served = True, 0
            if time.monotonic() > deadline:
                return "errors for longer"
            time.sleep(0.1)
        return "errors, then served" if failed else "served"


# Hanging


def _hangs(database: _Database, lab: Lab) -> str:
    with _connected(database, lab) as server:
        time.sleep(1)  # HikariCP does not test a connection that was used in the last 500 ms
        with _while("hanging", database, server), server.connect(_SOON) as connection:
            try:
                connection.request(Request(database.target))
            except Silence:
                return "none within 8 s"
            except Closed:
                pass
            return "an answer within 8 s"


def _others(database: _Database, lab: Lab, count: int = 1) -> str:
    """Whether /index is answered before the requests that wait for the database."""
    with (
        _connected(database, lab) as server,
        _while("hanging", database, server) as proxy,
    ):
        before = proxy.sent
        with _asking(server, database.target, count) as waiting:
            wait_until(lambda: proxy.sent > before, timeout=lab.patience)
            time.sleep(0.5)
            with _asking(server, INDEX.target) as (other,):
                try:
                    served = other.receive(INDEX).status == 200
                except FAILED:
                    served = False
                if not served:
                    return "not served"
                before_it = select.select([one.socket for one in waiting], [], [], 0)[0]
                return "served late" if before_it else "served"


def _others_of_many(lab: Lab) -> str:
    """Half as many requests again as there are threads."""
    with lab.start(THREADS="8", DATABASE_POOL_SIZE=str(_POOL)) as server:
        return _others(_POSTGRESQL, Lab(server, lab.start_another, lab.patience), count=12)


def _recovers(database: _Database, lab: Lab) -> str:
    with _connected(database, lab) as server:
        with (
            _while("hanging", database, server),
            _asking(server, database.target, 5),
        ):
            time.sleep(4)
        deadline = time.monotonic() + _RECOVERY
        while (left := deadline - time.monotonic()) > 0:
            if _status(server, database.target, left) == 200:
                return "served"
            time.sleep(0.1)
        return "not within 10 s"


# The pool


def _pool(database: _Database, lab: Lab) -> str:
    requests = 20
    with _connected(database, lab) as server:
        before = database.proxy(server).connections
        for _ in range(requests):
            status = _status(server, database.target)
            assert status == 200, f"{database.target}: {status}"
        made = database.proxy(server).connections - before
        return "one per request" if made >= requests / 2 else "a pool"


@asks_several(
    *("mongodb-crowd", "mongodb-crowd-connections"),
    *("postgresql-crowd", "postgresql-crowd-connections"),
    parts=("mongo", "agents"),
    lane="databases",
)
def _crowds(lab: Lab) -> dict[str, str]:
    """Many clients ask for a slow database through a small pool."""
    with lab.start(MONGODB_POOL_SIZE=str(_POOL), DATABASE_POOL_SIZE=str(_POOL)) as server:
        return _crowd(_MONGODB, server) | _crowd(_POSTGRESQL, server)


def _crowd(database: _Database, server: Controlled) -> dict[str, str]:
    assert _status(server, database.target) == 200, f"{database.target} is not served"
    proxy = database.proxy(server)
    proxy.delay = 0.05  # so that all of them are in flight at once
    with (
        _asking(server, database.target, _CROWD) as connections,
        ThreadPoolExecutor(_CROWD) as clients,
    ):
        statuses = set(clients.map(_received, connections))
    proxy.delay = 0
    if not statuses <= {200, 503}:
        served = "some fail otherwise"
    else:
        served = "some 503" if 503 in statuses else "all served"
    within = proxy.most <= _POOL + database.monitors
    return {
        f"{database.name}-crowd": served,
        f"{database.name}-crowd-connections": "within the pool" if within else "more",
    }


def _received(connection: Connection) -> int | None:
    """The status of a response; closes the connection, as some servers wait for that."""
    with connection:
        try:
            return connection.receive().status
        except FAILED:
            return None


_QUESTIONS: dict[str, Callable[[_Database, Lab], str]] = {
    "cut": _cut,
    "hangs": _hangs,
    "hangs-others": _others,
    "hangs-recovers": _recovers,
    "pool": _pool,
}

for _one in (_MONGODB, _POSTGRESQL):
    for _id, _question in _QUESTIONS.items():
        _ask = partial(_question, _one)
        asks(f"{_one.name}-{_id}", _one.part, lane="databases")(_ask)
    _ids = (f"{_one.name}-starts", f"{_one.name}-password")
    asks_several(*_ids, parts=(_one.part,), lane="databases")(partial(_starts, _one))
asks("postgresql-hangs-many", "agents", lane="databases")(_others_of_many)
asks("retry-after", "agents", lane="databases")(_retry_after)
