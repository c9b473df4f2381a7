"""The group `connection`: its lifetime, how requests share it, and general headers."""

import re
from functools import partial

import spec
from conformance.behaviours.lab import CLOSES, HEAD, INDEX, JSON, LAST, STATUS, Lab, asks
from conformance.http import Closed, Garbled, Request, Response, Silence


def _status(text: str, lab: Lab) -> str:
    """The first status, which may be 1xx; or ``closed`` or ``waits``."""
    with lab.connect() as connection:
        connection.offer(text.encode())
        raw, ended = connection.read_until(lambda raw: len(raw) >= len("HTTP/1.1 200"))
    if not raw:
        return "closed" if ended else "waits"
    line = STATUS.match(raw)
    if line is None:
        raise Garbled(f"not a response: {raw[:100]!r}")
    return line[1].decode()


def _fate(text: str, lab: Lab) -> str:
    status = _status(text, lab)
    return {"2": "served", "4": "refused", "5": "refused"}.get(status[0], status)


for _id, _text in {
    "http-1-0-without-host": "GET /index HTTP/1.0\r\n\r\n",
    "empty-line-first": f"\r\n{HEAD}\r\n",
    "header-of-12-kb": f"{HEAD}X-A: {'a' * 12_000}\r\n\r\n",
}.items():
    asks(_id, "text", needs="get")(partial(_fate, _text))


@asks("expect-continue", "text", needs="post")
def expect_continue(lab: Lab) -> str:
    """The first status."""
    head = "POST /index HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    status = _status(head, lab)
    return "final status" if status[0] in "245" else status


# A second request on the connection


@asks("keep-alive", needs="get")
def keep_alive(lab: Lab) -> str:
    """Two requests in sequence."""
    return "kept" if lab.keeps_alive() else "closed"


@asks("http-1-0-keep-alive", "text", needs="get")
def http_1_0_keep_alive(lab: Lab) -> str:
    """An HTTP/1.0 client needs a header that says that the connection stays open.

    None is sent after a last response: Werkzeug's server, for example, waits for more if a request
    comes within 10 ms, and closes if it comes later.
    """
    request = Request("/index", headers=(("Connection", "keep-alive"),), version="1.0")
    with lab.connect() as connection:
        response = connection.request(request)
        if response.status >= 400:
            return "refused"
        if response.is_last:
            closed = connection.is_closed_within(lab.patience * 1.5)
            return "closed" if closed else "left open"
        try:
            connection.request(request)
        except Closed:
            return "closed"
        except Silence:
            return "left open"
    return "kept" if "keep-alive" in response.options else "kept without saying so"


# Pipelining

_SEVERAL = (INDEX, JSON, Request("/nothing"), JSON, LAST)


@asks("pipelining", "text", "json", needs="get")
def pipelining(lab: Lab) -> str:
    """Five requests in one segment; the last one says close."""
    expected = [_body_of(lab, lab.ask(request.target)) for request in _SEVERAL]
    bodies: list[str] = []
    short = over = ""
    with lab.connect() as connection:
        connection.offer(b"".join(request.encode("x") for request in _SEVERAL))
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
    if short == "closed" and not lab.keeps_alive():
        return CLOSES
    if bodies == expected[: len(bodies)]:
        return short or "in order"
    return "out of order" if sorted(bodies) == sorted(expected) else "mixed up"


def _body_of(lab: Lab, response: Response) -> str:
    """What a response is."""
    if lab.page.is_in(response):
        return "the page"
    return "JSON" if response.body == spec.expected("/json").body else "an error"


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
