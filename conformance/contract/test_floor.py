"""Whatever clients do, no process dies, no stack trace is sent, and others are served."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.expect import right
from conformance.hostile import AMBIGUOUS, BROKEN, ambiguous
from conformance.http import Request
from conformance.marks import catches, control, serves
from conformance.subject import Controlled

pytestmark = control

HOSTILE = BROKEN | {id: ambiguous(id, "/notes") for id in AMBIGUOUS}

# Stack traces in several languages
TRACE = re.compile(
    rb"Traceback \(most recent call last\)"
    rb'|File "[^"]+", line \d+'  # Python
    rb"|\n?\s+at [\w.$<>\[\] ]+\(?[\w./:-]+:\d+"  # JavaScript, Java and Scala
    rb"|[\w./-]+\.rb:\d+:in "  # Ruby
)


@contextmanager
def _survives(server: Controlled, what: str) -> Iterator[None]:
    """Fail if a process of the server dies during the block."""
    before = server.pids()
    yield
    gone = before - server.pids()
    assert not gone, f"{what}: a process died"


@pytest.mark.parametrize("case", HOSTILE)
@catches("broken-kills", "broken-blocks", "broken-trace")
def test_a_hostile_request(controlled: Controlled, case: str) -> None:
    """Others are served while the request is open; its own response does not matter here."""
    with _survives(controlled, case):
        for data in HOSTILE[case]:
            with controlled.connect() as connection:
                connection.offer(data)
                if controlled.deployment.concurrent:
                    right(controlled.ask("/index"))
                raw = connection.read_raw(0.2)
            trace = TRACE.search(raw)
            assert trace is None, f"{case}: the client gets a stack trace: {raw[:300]!r}"
        right(controlled.ask("/index", timeout=40))


_MUCH = 20 << 20
_HEAD = b"GET /index HTTP/1.1\r\nHost: x\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

# More than a server should take in, in one send each
FLOODS = {
    "1000-requests": (_HEAD + b"\r\n") * 1000,
    "head-of-20-mb": _HEAD + b"X-A: b\r\n" * (_MUCH // 8),
    "trailers-of-20-mb": _CHUNKED + b"0\r\n" + b"X-A: b\r\n" * (_MUCH // 8),
    "chunk-extension-of-20-mb": _CHUNKED + b"5;" + b"a" * _MUCH,
    "64-bit-length": _HEAD + b"Content-Length: 9223372036854775807\r\n\r\n",
    "64-bit-chunk": _CHUNKED + b"7fffffffffffffff\r\nhello",
}


@pytest.mark.parametrize("case", FLOODS)
@catches("flood-kills")
def test_a_flood(controlled: Controlled, case: str) -> None:
    """No process dies of it, and others are served."""
    with _survives(controlled, case):
        with controlled.connect(timeout=5) as connection:
            connection.offer(FLOODS[case])
            connection.read_raw(0.5)
            if controlled.deployment.concurrent:
                right(controlled.ask("/index", timeout=40))
        right(controlled.ask("/index", timeout=40))


@serves("files", "sleep", "gridfs", "agents")
@catches("disconnect-kills")
def test_clients_that_leave(controlled: Controlled) -> None:
    """In the middle of a request, a response or a wait."""
    targets = ("/index", "/files/photo.jpg", "/sleep?ms=300", "/gridfs/photo.jpg", "/agents")
    with _survives(controlled, "clients that leave"):
        for request in [Request(target).encode("x") for target in targets]:
            for sent in (request[:10], request, request * 20):
                with controlled.connect() as connection:
                    connection.send(sent)
            with controlled.connect() as connection:
                connection.send(request)
                connection.socket.shutdown(1)
        right(controlled.ask("/sleep?ms=300", timeout=40))


@serves("files")
@catches("truncation-kills")
def test_a_file_cut_short_while_it_is_sent(controlled: Controlled) -> None:
    file = controlled.files / "shrinking.bin"
    with file.open("wb") as shrinking:
        shrinking.truncate(100 << 20)
    with _survives(controlled, "a file cut short while it is sent"):
        with controlled.connect() as connection:
            connection.send(Request("/files/shrinking.bin").encode("x"))
            connection.read_some()
            os.truncate(file, 1 << 20)
            connection.read_raw(1)
        right(controlled.ask("/files/photo.jpg", timeout=40))
