"""Whatever clients do, no process dies, no stack trace is sent, and others are served."""

import contextlib
import os
import re

import pytest

from conformance.expect import right
from conformance.faults import catches
from conformance.hostile import AMBIGUOUS, BROKEN
from conformance.http import Request
from conformance.needs import control, serves
from conformance.subject import Controlled

pytestmark = control

HOSTILE = BROKEN | AMBIGUOUS

TRACE = re.compile(
    rb"Traceback \(most recent call last\)"
    rb'|File "[^"]+", line \d+'  # Python
    rb"|\n?\s+at [\w.$<>\[\] ]+\(?[\w./:-]+:\d+"  # JavaScript, Java and Scala
    rb"|[\w./-]+\.rb:\d+:in "  # Ruby
)
"""Stack traces in several languages."""


@pytest.mark.parametrize("case", HOSTILE)
@catches("broken-kills", "broken-blocks", "broken-trace")
def test_a_hostile_request(controlled: Controlled, case: str) -> None:
    """Others are served while the request is open; its own response does not matter here."""
    before = controlled.pids()
    with controlled.connect() as connection:
        with contextlib.suppress(ConnectionError):
            connection.send(HOSTILE[case])
        if controlled.deployment.concurrent:
            right(controlled.ask("/index"))
        raw = connection.read_raw(0.2)
    trace = TRACE.search(raw)
    assert trace is None, f"{case}: the client gets a stack trace: {raw[:300]!r}"
    right(controlled.ask("/index", timeout=40))
    gone = before - controlled.pids()
    assert not gone, f"{case}: a process died"


@serves("files", "sleep", "gridfs", "agents")
@catches("disconnect-kills")
def test_clients_that_leave(controlled: Controlled) -> None:
    """In the middle of a request, a response or a wait."""
    before = controlled.pids()
    for target in ("/index", "/files/photo.jpg", "/sleep?ms=300", "/gridfs/photo.jpg", "/agents"):
        request = Request(target).encode("x")
        for sent in (request[:10], request, request * 20):
            with controlled.connect() as connection:
                connection.send(sent)
        with controlled.connect() as connection:
            connection.send(request)
            connection.socket.shutdown(1)
    right(controlled.ask("/sleep?ms=300", timeout=40))
    gone = before - controlled.pids()
    assert not gone, "a process died when clients left"


@serves("files")
@catches("truncation-kills")
def test_a_file_cut_short_while_it_is_sent(controlled: Controlled) -> None:
    file = controlled.files / "shrinking.bin"
    with file.open("wb") as shrinking:
        shrinking.truncate(100 << 20)
    before = controlled.pids()
    with controlled.connect() as connection:
        connection.send(Request("/files/shrinking.bin").encode("x"))
        connection.socket.recv(1 << 16)
        os.truncate(file, 1 << 20)
        connection.read_raw(1)
    right(controlled.ask("/files/photo.jpg", timeout=40))
    gone = before - controlled.pids()
    assert not gone, "a process died when a file was cut short while it was sent"
