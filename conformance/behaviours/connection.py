"""The group `connection`: its lifetime, how requests share it, and general headers."""

import contextlib
import re
import socket
import time
from collections.abc import Mapping
from functools import partial

import spec
from conformance.behaviours.lab import Lab, Need, asks
from conformance.http import Closed, Connection, Garbled, Request, Response, Silence

# The answer of a server without keep-alive to questions about more than one request
CLOSES = "closes after each response"

HELLO = spec.expected("/index").body
MESSAGE = spec.expected("/json").body

STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")  # a status line

INDEX = Request("/index")
LAST = Request("/index", headers=(("Connection", "close"),))


# Helpers of several questions


def connect(lab: Lab) -> Connection:
    """A connection on which silence for more than the patience counts as no answer.

    Many servers close an idle connection after 5 s, some after 10: this is well apart from both.
    """
    return lab.server.connect(lab.patience * 1.5)


def send(connection: Connection, data: bytes) -> None:
    """Send data that a server may not read completely."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError, TimeoutError):
        connection.send(data)


def keeps_alive(lab: Lab) -> bool:
    """Whether a connection carries a second request, if both are correct."""
    with connect(lab) as connection:
        if connection.request(INDEX).is_last:
            return False
        try:
            connection.request(INDEX)
        except Closed:
            return False
    return True


def _status(connection: Connection, data: bytes) -> str:
    """The first status, which may be 1xx; or ``closed`` or ``waits``."""
    send(connection, data)
    raw, ended = connection.read_until(lambda raw: len(raw) >= len("HTTP/1.1 200"))
    if not raw:
        return "closed" if ended else "waits"
    line = STATUS.match(raw)
    if line is None:
        raise Garbled(f"not a response: {raw[:100]!r}")
    return line[1].decode()


# Questions that the status answers

_HEAD = "GET /index HTTP/1.1\r\nHost: x\r\n"
_FATE = {"2": "served", "4": "refused", "5": "refused"}

# Requests, and answers by prefix of the status; ``closed`` and ``waits`` are answers as well
_BY_STATUS: dict[str, tuple[str, Mapping[str, str]]] = {
    "http-1-0-without-host": ("GET /index HTTP/1.0\r\n\r\n", _FATE),
    "empty-line-first": (f"\r\n{_HEAD}\r\n", _FATE),
    "header-of-12-kb": (f"{_HEAD}X-A: {'a' * 12_000}\r\n\r\n", _FATE),
    "expect-continue": (
        "POST /index HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
        {"100": "100", "2": "final status", "4": "final status", "5": "final status"},
    ),
}


def _named(status: str, names: Mapping[str, str]) -> str:
    """The answer for the longest prefix of the status that has one."""
    return next((names[status[:n]] for n in (3, 1) if status[:n] in names), status)


def _ask_status(text: str, names: Mapping[str, str], lab: Lab) -> str:
    with connect(lab) as connection:
        return _named(_status(connection, text.encode()), names)


for _id, (_text, _names) in _BY_STATUS.items():
    _needs: Need = "post" if _text.startswith("POST") else "get"
    asks(_id, "text", needs=_needs)(partial(_ask_status, _text, _names))


# A second request on the connection

_HTTP_1_0 = Request("/index", headers=(("Connection", "keep-alive"),), version="1.0")


def _after_http_1_0(lab: Lab) -> tuple[Response, str]:
    """The response to an HTTP/1.0 request, and what becomes of the next one on its connection.

    None is sent if the response says that it is the last one: Werkzeug's server, for example,
    waits for more if a request comes within 10 ms, and closes if it comes later.
    """
    with connect(lab) as connection:
        response = connection.request(_HTTP_1_0)
        if response.is_last:
            closed = connection.is_closed_within(lab.patience * 1.5)
            return response, "closed" if closed else "left open"
        try:
            connection.request(_HTTP_1_0)
        except Closed:
            return response, "closed"
        except Silence:
            return response, "left open"
    return response, "kept"


@asks("keep-alive", needs="get")
def keep_alive(lab: Lab) -> str:
    """Two requests in sequence."""
    return "kept" if keeps_alive(lab) else "closed"


@asks("response-delay", needs="get")
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
            connection.request(INDEX)
            if number > 4 and time.monotonic() - began < 0.03:
                return "at once"
    return "40 ms late"


@asks("http-1-0-keep-alive", "text", needs="get")
def http_1_0_keep_alive(lab: Lab) -> str:
    """An HTTP/1.0 client needs a header that says that the connection stays open."""
    response, then = _after_http_1_0(lab)
    if response.status >= 400:
        return "refused"
    unsaid = then == "kept" and "keep-alive" not in response.options
    return "kept without saying so" if unsaid else then


# Pipelining


JSON = Request("/json")
_SEVERAL = (INDEX, JSON, Request("/nothing"), JSON, LAST)


@asks("pipelining", "text", "json", needs="get")
def pipelining(lab: Lab) -> str:
    """Five requests in one segment; the last one says close."""
    expected = [_body_of(lab, lab.ask(request.target)) for request in _SEVERAL]
    bodies: list[str] = []
    short = over = ""
    with connect(lab) as connection:
        send(connection, b"".join(request.encode("x") for request in _SEVERAL))
        try:
            for request in _SEVERAL:
                response = connection.receive(request)
                bodies.append(_body_of(lab, response))
                over = "closed" if response.is_last else ""
        except Closed:
            short = "closed"
        except Silence:
            short = over or "dropped"
        except Garbled:
            return "mixed up"
    if short == "closed" and not keeps_alive(lab):
        return CLOSES
    if bodies == expected[: len(bodies)]:
        return short or "in order"
    return "out of order" if sorted(bodies) == sorted(expected) else "mixed up"


def _body_of(lab: Lab, response: Response) -> str:
    """What a response is."""
    if lab.page.is_in(response):
        return "the page"
    return "JSON" if response.body == MESSAGE else "an error"


# Headers of a response

_DAYS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_IMF_FIXDATE = rf"({_DAYS}), \d\d ({_MONTHS}) \d{{4}} \d\d:\d\d:\d\d GMT"


@asks("date", needs="get")
def date(lab: Lab) -> str:
    """Only its format: clocks differ."""
    value = lab.ask("/index").header("Date")
    if value is None:
        return "missing"
    return "sent" if re.fullmatch(_IMF_FIXDATE, value) else "another form"


@asks("server-header", needs="get")
def server_header(lab: Lab) -> str:
    """Any digit counts as a version."""
    value = lab.ask("/index").header("Server")
    if not value:
        return "none"
    return "name and version" if re.search(r"\d", value) else "name"


@asks("json-etag", "json")
def json_etag(lab: Lab) -> str:
    """A tag is sent back."""
    etag = lab.ask("/json").header("ETag")
    return "none" if etag is None else lab.outcome("/json", If_None_Match=etag)
