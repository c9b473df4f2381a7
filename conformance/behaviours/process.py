"""The group `process`: signals, and requests in flight when they come."""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from signal import SIGHUP, SIGTERM
from threading import Lock

from conformance.behaviours.lab import CLOSES, INDEX, Lab, asks
from conformance.http import FAILED, Connection, Request
from conformance.instance import Instance, launched, serving
from harness.system.processes import wait_until

_LONG = 4.0  # seconds that a request takes: less than the usual grace of 5 s
_LOOK = 0.5  # seconds between looks at all processes
# Seconds that a server may take to end: the contract's 15, and as much again on a busy machine
_END = 30.0
SETTLED = 40.0  # seconds after which a server that neither serves nor ends does neither


# Connections when a server stops

_stopping = Lock()  # two questions share what is seen when one server stops


@contextmanager
def _busy(lab: Lab, server: Instance) -> Iterator[Connection]:
    """A connection with a long request in flight, which keeps the server from ending at once."""
    with server.connect(timeout=_LONG + lab.patience) as connection:
        connection.send(Request(f"/sleep?ms={_LONG * 1000:.0f}").encode("x"))
        assert server.accepts(connection, lab.patience), "it accepts no connection"
        time.sleep(0.5)
        yield connection


@cache
def _stopped_while_busy(lab: Lab) -> tuple[str, str]:
    """What becomes of the request in flight, and of a new connection meanwhile."""
    with serving(lab.controlled) as server, _busy(lab, server) as busy:
        server.process.send_signal(SIGTERM)
        time.sleep(_LONG / 2)
        new = "ends at once"
        if not server.has_ended and not busy.is_readable():
            new = _connected_late(lab, server)
        try:
            return "finished" if busy.receive().status == 200 else "an error", new
        except FAILED:
            return "cut", new


def _connected_late(lab: Lab, server: Instance) -> str:
    try:
        with server.connect(timeout=_LONG / 2 + lab.patience) as late:
            served = late.request(INDEX).status == 200
    except ConnectionRefusedError:
        return "refused"
    except FAILED:
        served = False
    return "accepted and served" if served else "accepted and left"


def _seen_while_stopping(which: int, lab: Lab) -> str:
    with _stopping:
        return _stopped_while_busy(lab)[which]


for _which, _id in enumerate(("sigterm-in-flight", "stopping-new-connection")):
    asks(_id, "sleep", lane="process")(partial(_seen_while_stopping, _which))


@asks("stopping-idle-connection", lane="process")
def _stopping_idle_connection(lab: Lab) -> str:
    with serving(lab.controlled) as server, server.connect() as idle:
        if idle.request(INDEX).is_last or idle.is_closed_within(1):
            return CLOSES
        server.process.send_signal(SIGTERM)
        return "ends" if wait_until(lambda: server.has_ended, timeout=8) else "waits"


@asks("sigterm-status", lane="process")
def _sigterm_status(lab: Lab) -> str:
    """The kind of exit status."""
    with serving(lab.controlled) as server:
        server.settle()
        status = server.stop(SIGTERM, _END)
    if status in (-SIGTERM, 128 + SIGTERM):
        return "the signal's"
    return "0" if status == 0 else "another"


@asks("sighup", lane="process")
def _sighup(lab: Lab) -> str:
    with serving(lab.controlled) as server:
        server.settle()
        before = server.pids()
        server.process.send_signal(SIGHUP)

        def reacted() -> bool:
            return server.has_ended or bool(server.pids() - before)

        if not wait_until(reacted, timeout=10, interval=_LOOK):
            return "ignored"
        return "ends" if server.has_ended else "reloads"


# Where it listens


@asks("port-in-use", lane="process")
def _port_in_use(lab: Lab) -> str:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        launched(lab.controlled, PORT=str(taken.getsockname()[1])) as server,
    ):
        if not wait_until(lambda: server.has_ended, timeout=SETTLED):
            return "runs on"
        log = server.written()
    if server.process.returncode == 0:
        return "ends with 0"
    return "a trace" if re.search(r"^\s*Traceback|^\s+(at|from) ", log, re.MULTILINE) else "a line"
