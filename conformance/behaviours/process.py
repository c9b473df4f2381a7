"""The group `process`: start, settings, workers, signals, and what it logs."""

import ipaddress
import re
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGHUP, SIGINT, SIGTERM, Signals

import psutil

from conformance.address import with_database
from conformance.behaviours.instance import START, Instance, launched, serving
from conformance.behaviours.lab import Lab, asks, asks_several
from conformance.http import Closed, Connection, Garbled, Request, Silence
from harness.processes import wait_until

FAILED = (Closed, Silence, Garbled, OSError)
"""Errors of a client that gets no complete response."""

PASSWORD = "s3cret"  # noqa: S105

INDEX = Request("/index")


# Connections when a server stops


_LONG = 4.0
"""Seconds that a request takes: less than the usual grace of 5 s."""


@contextmanager
def _busy(lab: Lab, server: Instance) -> Iterator[Connection]:
    """A connection with a long request in flight."""
    with server.connect(timeout=_LONG + lab.patience) as connection:
        connection.send(Request(f"/sleep?ms={_LONG * 1000:.0f}").encode("x"))
        assert server.accepts(connection, lab.patience), "it accepts no connection"
        time.sleep(0.5)
        yield connection


def _fate(busy: Connection) -> str:
    try:
        return "finished" if busy.receive().status == 200 else "an error"
    except FAILED:
        return "cut"


@asks("sigint-in-flight", "sleep", lane="process")
def _sigint_in_flight(lab: Lab) -> str:
    with serving(lab) as server, _busy(lab, server) as busy:
        server.signal(SIGINT)
        return _fate(busy)


@asks_several("sigterm-in-flight", "stopping-new-connection", parts=("sleep",), lane="process")
def _sigterm(lab: Lab) -> dict[str, str]:
    """A long request keeps the server from ending at once."""
    with serving(lab) as server, _busy(lab, server) as busy:
        server.signal(SIGTERM)
        time.sleep(_LONG / 2)
        new = _new_connection(lab, server, busy)
        return {"sigterm-in-flight": _fate(busy), "stopping-new-connection": new}


def _new_connection(lab: Lab, server: Instance, busy: Connection) -> str:
    if server.has_ended or select.select([busy.socket], [], [], 0)[0]:
        return "ends at once"
    try:
        with server.connect(timeout=_LONG / 2 + lab.patience) as late:
            served = late.request(INDEX).status == 200
    except ConnectionRefusedError:
        return "refused"
    except FAILED:
        served = False
    return "accepted and served" if served else "accepted and left"


@asks("stopping-idle-connection", lane="process")
def _stopping_idle_connection(lab: Lab) -> str:
    with serving(lab) as server, server.connect() as idle:
        said = idle.request(INDEX).header("Connection") or ""
        if said.lower() == "close" or idle.is_closed_within(1):
            return "closes after each response"
        server.signal(SIGTERM)
        return "ends" if wait_until(lambda: server.has_ended, timeout=8) else "waits"


@asks("sigint-status", lane="process")
def _sigint_status(lab: Lab) -> str:
    with serving(lab) as server:
        time.sleep(1)  # gevent loses a SIGINT while it is busy
        return _status(SIGINT, server)


def _status(number: Signals, server: Instance) -> str:
    """The kind of exit status after a signal."""
    status = server.stop(number)
    if status in (-number, 128 + number):
        return "the signal's"
    return "0" if status == 0 else "another"


@asks("sighup", lane="process")
def _sighup(lab: Lab) -> str:
    with serving(lab) as server:
        server.written()  # by now all its processes have started
        before = server.pids()
        server.signal(SIGHUP)
        wait_until(lambda: server.has_ended or bool(server.pids() - before), timeout=10)
        if server.has_ended:
            return "ends"
        return "reloads" if server.pids() - before else "ignored"


# Killed workers


@contextmanager
def _worker(
    lab: Lab, server: Instance, sent: bytes
) -> Iterator[tuple[Connection, psutil.Process] | None]:
    """A connection that has sent ``sent``, and the worker process that serves it.

    None if the parent process serves requests itself: killing it leaves no other.
    """
    server.written()  # by now all its processes have started
    for _ in range(20 if len(server.processes()) > 1 else 0):
        with server.connect(timeout=lab.patience) as connection:
            connection.send(sent)
            process = server.accepts(connection, lab.patience)
            if process and process.pid != server.process.pid:
                yield connection, process
                return
    yield None


@asks("killed-worker-others", lane="process")
def _killed_worker_others(lab: Lab) -> str:
    if not lab.controlled.deployment.workers:
        return "one process"
    half = INDEX.encode("x")[:-2]
    with serving(lab, WORKERS="2") as server:
        with _worker(lab, server, half) as found:
            if found is None:
                return "one process"
            found[1].kill()
            time.sleep(0.5)
        outcomes = set()
        deadline = time.monotonic() + 10
        for _ in range(40):
            outcomes.add(_is_served(server, lab.patience))
            if len(outcomes) == 2 or time.monotonic() > deadline:
                break
            time.sleep(0.05)
    if len(outcomes) == 2:
        return "some fail"
    return "all served" if outcomes == {True} else "none"


def _is_served(server: Instance, timeout: float) -> bool:
    try:
        return server.ask(INDEX.target, timeout=timeout).status == 200
    except FAILED:
        return False


@asks("killed-worker-in-flight", "sleep", lane="process")
def _killed_worker_in_flight(lab: Lab) -> str:
    if not lab.controlled.deployment.workers:
        return "one process"
    sent = Request("/sleep?ms=3000").encode("x")
    with serving(lab, WORKERS="2") as server, _worker(lab, server, sent) as found:
        if found is None:
            return "one process"
        connection, process = found
        time.sleep(0.5)
        process.kill()
        try:
            connection.receive()
        except Silence:
            return "hangs"
        except FAILED:
            return "closed"
        return "answered"


# Settings


def _refusal(lab: Lab, **settings: str) -> tuple[int, str]:
    """The exit status and the output of a process with bad settings."""
    with launched(lab, **settings) as server:
        return server.ends(START), server.written()


def _form(text: str) -> str:
    """``a traceback``, ``several lines``, ``a line`` or ``nothing``."""
    lines = [line for line in text.splitlines() if line.strip()]
    if any(_TRACE.search(line) for line in lines):
        return "a traceback"
    return ("nothing", "a line", "several lines")[min(len(lines), 2)]


_TRACE = re.compile(r"^Traceback \(most recent call|^\s+at \S+|\.rb:\d+:in ")
"""A line of a stack trace: Python's, JavaScript's and the JVM's, Ruby's."""


@asks_several("bad-setting-status", "bad-setting-output", parts=("mongo",), lane="process")
def _bad_setting(lab: Lab) -> dict[str, str]:
    status, written = _refusal(lab, MONGODB_URL="nonsense")
    return {
        "bad-setting-status": str(status) if status in (1, 2) else "another",
        "bad-setting-output": _form(written),
    }


@asks("bad-settings-together", "mongo", "files", lane="process")
def _bad_settings_together(lab: Lab) -> str:
    bad = {"MONGODB_URL": "nonsense", "FILES_DIR": "/nonexistent/folder"}
    written = _refusal(lab, **bad)[1].lower().replace("-", "_")
    return "all at once" if all(name.lower() in written for name in bad) else "one at a time"


@asks("bad-setting-password", "agents", lane="process")
def _bad_setting_password(lab: Lab) -> str:
    """The URL is bad in each part that a server may check before it connects."""
    bad = f"nonsense://refservers:{PASSWORD}@127.0.0.1:none/refservers"
    with launched(lab, DATABASE_URL=bad) as server:
        if server.serves():
            _is_served(server, lab.patience)
        return "shown" if PASSWORD in server.written() else "not shown"


# Logs


@asks_several(
    *("log-start", "listens", "log-success", "log-not-found", "sigterm-status"), lane="process"
)
def _log(lab: Lab) -> dict[str, str]:
    """One server from start to end.

    Access log lines of the requests that wait for its start do not count.
    """
    with serving(lab) as server:
        lines = [line for line in server.written().splitlines() if INDEX.target not in line]
        listens = _listens(server)
        success = _logged(server, INDEX.target, 200)
        missing = _logged(server, _NOWHERE, 404)
        status = _status(SIGTERM, server)
        rest = server.written()  # in case the log is buffered
    form = _form(missing or "\n".join(line for line in rest.splitlines() if _NOWHERE in line))
    return {
        "log-start": "lines" if "".join(lines).strip() else "nothing",
        "listens": listens,
        "log-success": "a line" if INDEX.target in (success or rest) else "nothing",
        "log-not-found": "several lines" if form == "a traceback" else form,
        "sigterm-status": status,
    }


_NOWHERE = "/nothing-is-there"


def _logged(server: Instance, target: str, status: int, timeout: float = 10.0) -> str:
    """The lines that a request adds to the log."""
    before = len(server.written().encode())
    response = server.ask(target, timeout=timeout)
    assert response.status == status, f"{target}: {response.status} instead of {status}"
    wait_until(lambda: server.log.stat().st_size > before, timeout=1.5)
    return server.written(before)


@asks("log-fault", "agents", lane="process")
def _log_fault(lab: Lab) -> str:
    """The database has none of the tables in the query."""
    url = with_database(lab.controlled.services.database_url, "postgres")
    with serving(lab, DATABASE_URL=url) as server:
        added = _logged(server, "/agents", 500)
        if not added:
            server.stop(SIGTERM)
            rest = server.written()
            named = [line for line in rest.splitlines() if "/agents" in line]
            added = rest if _form(rest) == "a traceback" else "\n".join(named)
    return {"a traceback": "a trace", "nothing": "nothing"}.get(_form(added), "lines")


def _listens(server: Instance) -> str:
    listening = [
        one.laddr.ip
        for process in server.processes()
        for one in process.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN
    ]
    assert listening, "none of its processes listens"
    return "loopback only" if all(map(_is_loopback, listening)) else "all addresses"


def _is_loopback(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_loopback
