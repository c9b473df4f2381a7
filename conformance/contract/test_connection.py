"""Connections: keep-alive, pipelining, framing, and requests that are hostile or broken."""

import time

import pytest

import spec
from conformance.expect import JSON, TEXT, answer, holds, problem, same
from conformance.faults import catches
from conformance.http import Closed, Connection, Garbled, Request, Response
from conformance.needs import control, each_endpoint, serves
from conformance.subject import Controlled, Subject

HELLO = b"Hello, World!"
MESSAGE = spec.json_body({"message": "Hello, World!"})

REFUSALS = {400, 405, 408, 413, 414, 431, 501, 505}
"""What a server's own HTTP layer may answer to what it refuses; or it closes (contract)."""


def kept_alive(subject: Subject) -> bool:
    """Whether the server keeps connections open, from what it does itself."""
    with subject.connect() as connection:
        response = connection.request(Request("/index"))
    return (response.header("Connection") or "").lower() != "close"


@control
@catches("closes-always", "closes-silently", "keep-alive-claimed-none")
def test_keep_alive(controlled: Controlled) -> None:
    """Both ways: a deployment that says that it closes after each response does so, and says so."""
    with controlled.connect() as connection:
        first = connection.request(Request("/index"))
        answer(first, TEXT, HELLO)
        if not controlled.deployment.keep_alive:
            same("Connection", "close", (first.header("Connection") or "").lower(), first)
            holds("the connection", "closed", connection.is_closed_within(2), "open", first)
            return
        for _ in range(20):
            answer(connection.request(Request("/index")), TEXT, HELLO)
            answer(connection.request(Request("/json")), JSON, MESSAGE)


@each_endpoint
@catches("close-ignored", "close-unsaid")
def test_connection_close(subject: Subject, target: str) -> None:
    with subject.connect() as connection:
        response = connection.request(Request(target, headers=(("Connection", "close"),)))
        same("status", 200, response.status, response)
        same("Connection", "close", (response.header("Connection") or "").lower(), response)
        holds("the connection", "closed", connection.is_closed_within(2), "open", response)


@catches("close-ignored-10")
def test_http_1_0(subject: Subject) -> None:
    with subject.connect() as connection:
        response = connection.request(Request("/index", version="1.0"))
        same("status", 200, response.status, response)
        same("body", HELLO, response.body, response)
        holds("the connection", "closed", connection.is_closed_within(2), "open", response)
    with subject.connect() as connection:
        connection.send(b"GET /json HTTP/1.0\r\n\r\n")
        raw = connection.read_raw(2)
    told = f"HTTP/1.0 without Host: expected 200 and {MESSAGE!r}, got {raw[:200]!r}"
    assert raw.startswith((b"HTTP/1.0 200 ", b"HTTP/1.1 200 ")), told
    assert raw.endswith(MESSAGE), told


def _answers(connection: Connection, requests: list[Request]) -> list[Response]:
    """The answers to pipelined requests; a server may say that it closes after a refusal."""
    responses: list[Response] = []
    for request in requests:
        responses.append(connection.receive(request))
        said = (responses[-1].header("Connection") or "").lower()
        if request.method == "POST" and said == "close":
            break
    return responses


PIPELINE = [
    *(Request("/index"), Request("/json"), Request("/nothing"), Request("/index", "HEAD")),
    *(Request("/json", "POST", body=b"x" * 10), Request("/json"), Request("/index")),
]


@pytest.mark.parametrize("pieces", ["one segment", "byte by byte"])
@catches("pipelined-swallowed", "pipelined-out-of-order")
def test_pipelining(subject: Subject, pieces: str) -> None:
    if not kept_alive(subject):
        return
    data = b"".join(request.encode("x") for request in PIPELINE)
    with subject.connect() as connection:
        if pieces == "one segment":
            connection.send(data)
        else:
            for index in range(len(data)):
                connection.send(data[index : index + 1])
        responses = _answers(connection, PIPELINE)
    for request, response in zip(PIPELINE, responses, strict=False):
        if request.method == "POST":
            problem(response, 405)
        elif request.target == "/nothing":
            problem(response, 404)
        elif request.target == "/json":
            answer(response, JSON, MESSAGE)
        else:
            answer(response, TEXT, HELLO)


@serves("sleep")
@catches("pipelined-out-of-order")
def test_a_slow_request_does_not_let_the_next_overtake(subject: Subject) -> None:
    if not kept_alive(subject):
        return
    slow = Request("/sleep?ms=300")
    with subject.connect() as connection:
        connection.send(slow.encode("x") + Request("/index").encode("x"))
        answer(connection.receive(slow), JSON, spec.json_body({"slept_ms": 300}))
        answer(connection.receive(Request("/index")), TEXT, HELLO)


@each_endpoint
@catches("head-body")
def test_get_after_head(subject: Subject, target: str) -> None:
    if not kept_alive(subject):
        return
    with subject.connect() as connection:
        for _ in range(2):
            head = connection.request(Request(target, "HEAD"))
            get = connection.request(Request(target))
            same("status", 200, head.status, head)
            same("status", 200, get.status, get)
            same("Content-Length", str(len(get.body)), head.header("Content-Length"), head)


@catches("slow-request-refused")
def test_a_request_in_slow_pieces(subject: Subject) -> None:
    with subject.connect() as connection:
        for piece in (b"GET /in", b"dex HTTP/1.1\r", b"\nHost: x\r\nX-A: ", b"b\r\n", b"\r", b"\n"):
            connection.send(piece)
            time.sleep(0.03)
        answer(connection.receive(), TEXT, HELLO)


@catches("expect-ignored")
def test_expect_continue(subject: Subject) -> None:
    """RFC 9110, section 10.1.1: a final status, or 100 and then one; never a wait."""
    with subject.connect(timeout=4) as connection:
        connection.send(
            b"POST /index HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
        )
        try:
            raw = connection.socket.recv(1 << 16)
        except TimeoutError:
            raise AssertionError("Expect: 100-continue: neither 100 nor a final status") from None
    assert raw.startswith(b"HTTP/1.1 "), f"expected a response, got {raw[:100]!r}"
    status = int(raw[9:12])
    assert status in (100, 405, 413, 417), f"expected 100, 405 or 417, got {raw[:100]!r}"


BROKEN: dict[str, tuple[bytes, bool]] = {
    "no request line": (b"\x00\x01\x02\x03\r\n\r\n", False),
    "one word": (b"GET\r\n\r\n", False),
    "no version": (b"GET /index\r\nHost: x\r\n\r\n", True),
    "version 9.9": (b"GET /index HTTP/9.9\r\nHost: x\r\n\r\n", True),
    "version in words": (b"GET /index HTTP/one\r\nHost: x\r\n\r\n", False),
    "space in target": (b"GET /in dex HTTP/1.1\r\nHost: x\r\n\r\n", False),
    "TLS": (bytes.fromhex("16030100c8010000c403030000000000"), False),
    "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", False),
    "header without colon": (b"GET /index HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n", True),
    "header name with space": (b"GET /index HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n", True),
    "space before colon": (b"GET /index HTTP/1.1\r\nHost: x\r\nX-A : b\r\n\r\n", True),
    "folded header": (b"GET /index HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n", True),
    "NUL in a header": (b"GET /index HTTP/1.1\r\nHost: x\r\nX-A: \x00\r\n\r\n", True),
    "bare LF": (b"GET /index HTTP/1.1\nHost: x\n\n", True),
    "bare CR": (b"GET /index HTTP/1.1\rHost: x\r\r", False),
    "no Host": (b"GET /index HTTP/1.1\r\n\r\n", True),
    "two Hosts": (b"GET /index HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", True),
    "64 KB of headers": (
        b"GET /index HTTP/1.1\r\nHost: x\r\n" + b"X-A: %s\r\n" % (b"a" * 1000) * 65 + b"\r\n",
        True,
    ),
    "one header of 64 KB": (
        b"GET /index HTTP/1.1\r\nHost: x\r\nX-A: %s\r\n\r\n" % (b"a" * (1 << 16)),
        True,
    ),
    "5000 headers": (b"GET /index HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 5000 + b"\r\n", True),
    "100 KB of target": (b"GET /index?%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * 100_000), True),
    "negative length": (b"POST /index HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", False),
    "length in words": (b"POST /index HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n", False),
    "two lengths": (
        b"POST /index HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        False,
    ),
    "bad chunk size": (
        b"POST /index HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n0\r\n\r\n",
        False,
    ),
    "unknown coding": (
        b"POST /index HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: nonsense\r\n\r\n",
        False,
    ),
}
"""Requests that a server's HTTP layer may refuse, and whether it may serve them instead."""


@pytest.mark.parametrize("place", ["first", "second"])
@pytest.mark.parametrize("case", BROKEN)
@catches("broken-hangs", "second-broken-hangs", "broken-500", "broken-kills", "broken-served")
def test_a_broken_request(subject: Subject, case: str, place: str) -> None:
    """Parsers may keep something of the request before: it is sent as the second one too."""
    data, may_be_served = BROKEN[case]
    with subject.connect(timeout=5) as connection:
        if place == "second":
            first = connection.request(Request("/index"))
            if (first.header("Connection") or "").lower() == "close":
                return
        try:
            connection.send(data)
            if not data.endswith((b"\r\n\r\n", b"\n\n")):
                connection.socket.shutdown(1)
            status = connection.receive().status
            allowed = REFUSALS | {404} | ({200} if may_be_served else set())
            assert status in allowed, f"{case}: expected one of {sorted(allowed)}, got {status}"
        except (Closed, ConnectionError):
            pass
        except Garbled:
            # A request without a version asks for HTTP/0.9, whose answer is a body alone.
            if case not in ("no version", "one word"):
                raise
        except TimeoutError:
            raise AssertionError(f"{case}: expected an answer or the end, got silence") from None
    answer(subject.ask("/index"), TEXT, HELLO)


@pytest.mark.parametrize("case", ["no request line", "bare CR", "one word", "bad chunk size"])
@catches("broken-waits")
def test_a_broken_request_on_an_open_connection_is_not_waited_on_for_ever(
    subject: Subject, case: str
) -> None:
    """Some of these may be the start of a request: then others must be served meanwhile."""
    with subject.connect() as connection:
        connection.send(BROKEN[case][0])
        if subject_serves_others(subject):
            answer(subject.ask("/index"), TEXT, HELLO)
    answer(subject.ask("/index"), TEXT, HELLO)


def subject_serves_others(subject: Subject) -> bool:
    return not isinstance(subject, Controlled) or subject.deployment.concurrent


SMUGGLED = b"GET /json HTTP/1.1\r\nHost: x\r\n\r\n"
SMUGGLING = {
    "length and chunked": (
        b"POST /index HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (5 + len(SMUGGLED))
    )
    + SMUGGLED,
    "chunked twice": b"POST /index HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "space before colon": b"POST /index HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n"
    b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n%s" % (5 + len(SMUGGLED), SMUGGLED),
    "two lengths": b"POST /index HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: %d\r\n"
    b"\r\n%s" % (len(SMUGGLED), SMUGGLED),
    "length with a sign": b"POST /index HTTP/1.1\r\nHost: x\r\nContent-Length: +0\r\n\r\n"
    + SMUGGLED,
}
"""Requests whose end can be read in two ways, one of which hides a second request in them."""


@pytest.mark.parametrize("case", SMUGGLING)
@catches("smuggled")
def test_a_smuggled_request_is_not_served(subject: Subject, case: str) -> None:
    with subject.connect() as connection:
        connection.send(SMUGGLING[case])
        raw = connection.read_raw(0.7)
    assert MESSAGE not in raw, f"{case}: the smuggled request was served: {raw[-300:]!r}"
    answer(subject.ask("/index"), TEXT, HELLO)


@control
@serves("files", "sleep", "gridfs", "agents")
@catches("disconnect-kills")
def test_clients_that_leave(controlled: Controlled) -> None:
    """Clients that go in the middle of a request, of a response or of a wait hurt nobody."""
    before = {process.pid for process in controlled.processes()}
    for target in ("/index", "/files/photo.jpg", "/sleep?ms=300", "/gridfs/photo.jpg", "/agents"):
        request = Request(target).encode("x")
        for sent in (request[:10], request, request * 20):
            with controlled.connect() as connection:
                connection.send(sent)
        with controlled.connect() as connection:
            connection.send(request)
            connection.socket.shutdown(1)
    time.sleep(0.6)
    answer(controlled.ask("/index"), TEXT, HELLO)
    gone = before - {process.pid for process in controlled.processes()}
    assert not gone, "a process died when clients left"
