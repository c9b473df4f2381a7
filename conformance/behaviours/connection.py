"""The group `connection`: its lifetime, how requests share it, and general headers."""

import asyncio
import contextlib
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import spec
from conformance.behaviours.lab import Lab, asks
from conformance.http import Closed, Connection, Garbled, Request, Response, Silence
from spec.behaviours import CLOSES

HELLO = spec.expected("/index").body
MESSAGE = spec.expected("/json").body

_INDEX = Request("/index")
_LAST = Request("/index", headers=(("Connection", "close"),))


# Helpers of several questions


def silence(lab: Lab) -> float:
    """Seconds after which silence counts as no answer: more than the patience.

    Many servers close an idle connection after 5 s, some after 10: this is well apart from both.
    """
    return lab.patience * 1.5


def connect(lab: Lab) -> Connection:
    """A connection that times out after that time."""
    return lab.server.connect(silence(lab))


def send(connection: Connection, data: bytes) -> None:
    """Send data that a server may not read completely."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError, TimeoutError):
        connection.send(data)


def read_until(connection: Connection, enough: Callable[[bytes], object]) -> tuple[bytes, bool]:
    """Read until it is enough; also return whether the connection ended before that.

    Reading also stops on silence, and after a minute in any case.
    """
    until = time.monotonic() + 60
    raw = b""
    while not enough(raw) and time.monotonic() < until:
        try:
            piece = connection.socket.recv(1 << 16)
        except TimeoutError:
            return raw, False
        except ConnectionResetError:
            piece = b""
        if not piece:
            return raw, True
        raw += piece
    return raw, False


def keeps_alive(lab: Lab) -> bool:
    """Whether a connection carries a second request, if both are correct."""
    with connect(lab) as connection:
        if says_close(connection.request(_INDEX)):
            return False
        try:
            connection.request(_INDEX)
        except Closed:
            return False
    return True


def says_close(response: Response) -> bool:
    """Whether a response says, by a header or its version, that it is the connection's last."""
    options = _options(response)
    return "close" in options or (response.version == "1.0" and "keep-alive" not in options)


def _status(connection: Connection, data: bytes) -> str:
    """The first status, which may be 1xx; or ``closed`` or ``waits``."""
    send(connection, data)
    raw, ended = read_until(connection, lambda raw: len(raw) >= len("HTTP/1.1 200"))
    if not raw:
        return "closed" if ended else "waits"
    line = re.match(rb"HTTP/1\.[01] (\d{3})", raw)
    if line is None:
        raise Garbled(f"not a response: {raw[:100]!r}")
    return line[1].decode()


def _options(response: Response) -> list[str]:
    return re.split(r"[\s,]+", (response.header("Connection") or "").lower())


# Questions that the status answers

_HEAD = "GET /index HTTP/1.1\r\nHost: x\r\n"
_FATE = {"2": "served", "4": "refused", "5": "refused"}

_BY_STATUS: dict[str, tuple[str, Mapping[str, str]]] = {
    "http-1-0-without-host": ("GET /index HTTP/1.0\r\n\r\n", _FATE),
    "empty-line-first": (f"\r\n{_HEAD}\r\n", _FATE),
    "header-of-12-kb": (f"{_HEAD}X-A: {'a' * 12_000}\r\n\r\n", _FATE),
    "expect-continue": (
        "POST /index HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
        {"100": "100", "2": "final status", "4": "final status", "5": "final status"},
    ),
    "expect-something-else": (
        f"{_HEAD}Expect: something-else\r\n\r\n",
        {"417": "417", "2": "ignored", "4": "another error", "5": "another error"},
    ),
    "upgrade-to-http-2": (
        f"{_HEAD}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
        {"101": "upgraded", "2": "ignored", "4": "refused", "5": "refused"},
    ),
}
"""Requests, and answers by prefix of the status; ``closed`` and ``waits`` are answers as well."""


def _named(status: str, names: Mapping[str, str]) -> str:
    """The answer for the longest prefix of the status that has one."""
    return next((names[status[:n]] for n in (3, 1) if status[:n] in names), status)


def _ask_status(text: str, names: Mapping[str, str], lab: Lab) -> str:
    with connect(lab) as connection:
        return _named(_status(connection, text.encode()), names)


for _id, (_text, _names) in _BY_STATUS.items():
    asks(_id, "text")(partial(_ask_status, _text, _names))


# Slow requests


def _slowly(pieces: Iterable[bytes], rest: bytes, pause: float, lab: Lab) -> str:
    """Send piece by piece until the server answers or closes; then send the rest."""
    with connect(lab) as connection:
        for piece in pieces:
            send(connection, piece)
            time.sleep(pause)
            if connection.is_readable():
                rest = b""
                break
        return _named(_status(connection, rest), _FATE)


asks("slow-pieces", "text")(
    partial(
        _slowly, (b"GET /in", b"dex HTTP/1.1\r", b"\nHost: x\r\nX-A: ", b"b\r\n", b"\r"), b"\n", 0.2
    )
)
asks("slow-head", "text")(
    partial(
        _slowly,
        [bytes([byte]) for byte in _HEAD.encode()[:20]],
        _HEAD.encode()[20:] + b"\r\n",
        0.3,
    )
)


# A second request on the connection

_HTTP_1_0 = Request("/index", version="1.0")
_HTTP_1_0_KEPT = Request("/index", headers=(("Connection", "keep-alive"),), version="1.0")


def _after(first: Request, lab: Lab) -> tuple[Response, str]:
    """The response to a request, and what becomes of the next one on its connection.

    None is sent if the response says that it is the last one: Werkzeug's server, for example,
    waits for more if a request comes within 10 ms, and closes if it comes later.
    """
    with connect(lab) as connection:
        response = connection.request(first)
        if says_close(response):
            closed = connection.is_closed_within(silence(lab))
            return response, "closed" if closed else "left open"
        try:
            connection.request(_HTTP_1_0 if first.version == "1.0" else _INDEX)
        except Closed:
            return response, "closed"
        except Silence:
            return response, "left open"
        except Garbled:
            return response, "garbled"
    return response, "kept"


@asks("keep-alive")
def keep_alive(lab: Lab) -> str:
    """Two requests in sequence."""
    return "kept" if keeps_alive(lab) else "closed"


@asks("response-delay")
def response_delay(lab: Lab) -> str:
    """One short wait is enough: other programs can only make it longer.

    The client is told to delay its acknowledgements by 40 ms, as Linux does by itself on a
    connection that both sides use in turn, except for the first ones and those after a pause.
    """
    if not keeps_alive(lab):
        return CLOSES
    with connect(lab) as connection:
        for number in range(50):
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)  # tcp(7)
            began = time.monotonic()
            connection.request(_INDEX)
            if number > 4 and time.monotonic() - began < 0.03:
                return "at once"
    return "40 ms late"


def _left_open(first: Request, status: int, lab: Lab) -> str:
    response, then = _after(first, lab)
    assert response.status == status, f"{first.target} is answered with {response.status}"
    return CLOSES if then == "closed" and not keeps_alive(lab) else then


asks("after-404", "text")(partial(_left_open, Request("/nothing"), 404))
asks("after-400", "sleep")(partial(_left_open, Request("/sleep?ms=abc"), 400))


@asks("get-after-head", "text")
def get_after_head(lab: Lab) -> str:
    """A body after the headers would be read as the start of the next response."""
    _, then = _after(Request("/index", "HEAD"), lab)
    return CLOSES if then == "closed" and not keeps_alive(lab) else then


@asks("connection-close")
def connection_close(lab: Lab) -> str:
    """What follows the response: the end of the connection, another response, or silence."""
    return _after(_LAST, lab)[1]


@asks("connection-close-case")
def connection_close_in_another_case(lab: Lab) -> str:
    """Connection options are case-insensitive."""
    return _after(Request("/index", headers=(("Connection", "Close"),)), lab)[1]


@asks("close-announced")
def close_announced(lab: Lab) -> str:
    """HTTP/1.0 announces it by its version."""
    with connect(lab) as connection:
        return "announced" if says_close(connection.request(_LAST)) else "not announced"


@asks("http-1-0", "text")
def http_1_0(lab: Lab) -> str:
    """Without a Connection header."""
    response, then = _after(_HTTP_1_0, lab)
    return "refused" if response.status >= 400 else then


@asks("http-1-0-keep-alive", "text")
def http_1_0_keep_alive(lab: Lab) -> str:
    """An HTTP/1.0 client needs a header that says that the connection stays open."""
    response, then = _after(_HTTP_1_0_KEPT, lab)
    if response.status >= 400:
        return "refused"
    unsaid = then == "kept" and "keep-alive" not in _options(response)
    return "kept without saying so" if unsaid else then


@asks("http-1-0-version")
def http_1_0_version(lab: Lab) -> str:
    """The version in the status line."""
    with connect(lab) as connection:
        return f"http/{connection.request(_HTTP_1_0).version}"


# Pipelining


@dataclass(frozen=True)
class _Pipeline:
    """Requests sent before the first of them is answered; the last one says close."""

    requests: Sequence[Request]
    singly: bool = False
    """Whether each byte is sent by itself."""


_JSON = Request("/json")
_SEVERAL = [_INDEX, _JSON, Request("/nothing"), _JSON, _LAST]


def _pipelined(pipeline: _Pipeline, lab: Lab) -> str:
    requests = pipeline.requests
    data = b"".join(request.encode("x") for request in requests)
    bodies: list[str] = []
    short = over = ""
    with connect(lab) as connection:
        if not pipeline.singly:
            send(connection, data)
        for byte in data if pipeline.singly else b"":
            send(connection, bytes([byte]))
            time.sleep(0.001)  # otherwise the kernel sends many at once
        try:
            for request in requests:
                response = connection.receive(request)
                bodies.append(_body_of(response))
                over = "closed" if says_close(response) else ""
        except Closed:
            short = "closed"
        except Silence:
            short = over or "dropped"
        except Garbled:
            return "mixed up"
    if short == "closed" and not keeps_alive(lab):
        return CLOSES
    expected = [_expected(request) for request in requests]
    if all(one in (None, other) for one, other in zip(expected, bodies, strict=False)):
        return short or "in order"
    same = Counter(one for one in expected if one) <= Counter(bodies)
    return "out of order" if same and not short else "mixed up"


def _body_of(response: Response) -> str:
    """The target whose body a response has."""
    known = {target: spec.expected(target).body for target in ("/index", "/json", _SLOW.target)}
    return next((one for one, body in known.items() if body == response.body), "an error")


def _expected(request: Request) -> str | None:
    """The expected result of :func:`_body_of`; None if any will do."""
    if request.method == "POST":
        return None
    return "an error" if request.target == "/nothing" else request.target


_SLOW = Request("/sleep?ms=300")

asks("pipelining", "text", "json")(partial(_pipelined, _Pipeline(_SEVERAL)))
asks("pipelining-byte-by-byte", "text", "json")(
    partial(_pipelined, _Pipeline(_SEVERAL, singly=True))
)
asks("pipelining-after-slow", "text", "sleep")(partial(_pipelined, _Pipeline([_SLOW, _LAST])))
asks("pipelining-after-post", "text", "json")(
    partial(_pipelined, _Pipeline([_INDEX, Request("/json", "POST", body=b"x" * 10), _JSON, _LAST]))
)


# The body of a refused request

_BODY = _JSON.encode("x")


def _after_body(coding: tuple[tuple[str, str], ...], lab: Lab) -> str:
    """The body is a request itself, which shows whether it is taken for one."""
    post = Request("/index", "POST", coding, _BODY)
    then: Response | None = None
    with connect(lab) as connection:
        send(connection, post.encode("x") + _LAST.encode("x"))
        first = connection.receive(post)
        try:
            then = connection.receive(_LAST)
        except Silence:
            if not says_close(first):
                return "waits"
        except Garbled:
            return "taken for a request"
        except Closed:
            pass
    if then is None:
        return "closed" if keeps_alive(lab) else CLOSES
    return "next one answered" if then.body == HELLO else "taken for a request"


asks("refused-body", "text", "json")(partial(_after_body, ()))
asks("refused-body-in-chunks", "text", "json")(
    partial(_after_body, (("Transfer-Encoding", "chunked"),))
)


# Headers and framing of a response

_DAYS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_IMF_FIXDATE = rf"({_DAYS}), \d\d ({_MONTHS}) \d{{4}} \d\d:\d\d:\d\d GMT"


@asks("date")
def date(lab: Lab) -> str:
    """Only its format: clocks differ."""
    value = lab.ask("/index").header("Date")
    if value is None:
        return "missing"
    return "sent" if re.fullmatch(_IMF_FIXDATE, value) else "another form"


@asks("server-header")
def server_header(lab: Lab) -> str:
    """Any digit counts as a version."""
    value = lab.ask("/index").header("Server")
    if not value:
        return "none"
    return "name and version" if re.search(r"\d", value) else "name"


@asks("powered-by")
def powered_by(lab: Lab) -> str:
    """Any value counts."""
    return "sent" if lab.ask("/index").header("X-Powered-By") else "none"


@asks("framing-of-a-text", "text")
def framing_of_a_text(lab: Lab) -> str:
    """A short text of known length."""
    response = lab.ask("/index")
    if response.header("Transfer-Encoding"):
        return "chunked"
    return "length" if response.header("Content-Length") else "until the end"


# Clients that misbehave, or are many


@asks("half-close", "sleep")
def half_close(lab: Lab) -> str:
    """The response takes a while, so that the server notices the half-close before sending it."""
    with connect(lab) as connection:
        connection.send(Request("/sleep?ms=700").encode("x"))
        connection.socket.shutdown(1)
        try:
            connection.receive()
        except (Closed, Garbled):
            return "dropped"
        except Silence:
            return "waits"
    return "answered"


_CROWD = 300


@asks("crowd", "text", lane="alone", control=True)
def crowd(lab: Lab) -> str:
    """All are connected before the first one sends, if possible."""
    responses = asyncio.run(_crowd(lab.server.host, lab.server.port))
    if all(re.match(rb"HTTP/1\.[01] 200 ", raw or b"") for raw in responses):
        return "all served"
    return "some wait" if None in responses else "some refused"


async def _crowd(host: str, port: int) -> list[bytes | None]:
    """The response of each client within 13 s, or None.

    They send once all are connected, or after 2 s: a short accept queue admits the last ones only
    after the first are served.
    """
    together = asyncio.Event()
    asyncio.get_running_loop().call_later(2, together.set)
    missing = _CROWD

    async def client() -> bytes | None:
        nonlocal missing
        try:
            async with asyncio.timeout(13):
                reader, writer = await asyncio.open_connection(host, port)
                missing -= 1
                if not missing:
                    together.set()
                with contextlib.closing(writer):
                    await together.wait()
                    writer.write(_LAST.encode("x"))
                    return await reader.read(1 << 16)
        except TimeoutError:
            return None
        except OSError:
            return b""

    return await asyncio.gather(*[client() for _ in range(_CROWD)])


_LONGEST = 15.0
"""Seconds after which a request in parallel with half-sent ones counts as unanswered."""
_QUICK = 1.0
"""Seconds within which a response counts as immediate."""
_NOISE = 3.0
"""Seconds that cannot be explained by a busy machine."""


@asks("half-sent-requests", "text", lane="alone", control=True)
def half_sent_requests(lab: Lab) -> str:
    """Ten more than there are threads; up to three attempts, for a busy machine."""
    count = int(lab.controlled.process.environment["THREADS"]) + 10
    for _ in range(3):
        took = _response_time(lab, count)
        if not _QUICK < took < _NOISE:
            break
    if took < _QUICK:
        return "at once"
    return "within 15 s" if took < _LONGEST else "not"


def _response_time(lab: Lab, count: int) -> float:
    """The response time in seconds of a request in parallel with ``count`` half-sent ones."""
    with ExitStack() as held:
        for _ in range(count):
            try:
                half = held.enter_context(lab.server.connect(1))
            except OSError:  # the accept queue is full
                break
            send(half, _HEAD.encode() + b"X-A: b")
        start = time.monotonic()
        with contextlib.suppress(OSError, Closed, Silence):
            other = held.enter_context(lab.server.connect(_LONGEST))
            other.socket.settimeout(max(start + _LONGEST - time.monotonic(), 0.1))
            if other.request(_INDEX).status == 200:
                return time.monotonic() - start
    return _LONGEST
