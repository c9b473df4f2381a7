"""The group `routing`: which requests reach an endpoint, and the responses to others."""

import gzip
import re
from functools import partial
from urllib.parse import urljoin, urlsplit

import spec
from conformance.behaviours.lab import Lab, asks
from conformance.http import Closed, Request, Response

_HELLO = spec.expected("/index").body

_PATHS = {
    "trailing-slash": "/index/",
    "upper-case-path": "/INDEX",
    "doubled-slash": "//index",
    "dot-segment": "/./index",
    "dot-dot-segment": "/nothing/../index",
    "encoded-letter": "/%69ndex",
    "absolute-form": "{url}/index",
    "fragment-in-target": "/index#x",
}
"""Targets that are equivalent to ``/index``, or nearly."""

_METHODS = {"unknown-method": "BREW", "lower-case-method": "get"}

_ELSEWHERE = (
    *("//example.org", "//example.org/", "//example.org/..", "//example.org/%2e%2e"),
    *("//example.org/index", "//example.org/index/", "//example.org//index", "///example.org/.."),
    *("/./example.org/..", "/.//example.org/", "/index/..//example.org/", "/index//example.org/.."),
    *("/\\example.org/", "/\\example.org/..", "/%5Cexample.org/", "/%5Cexample.org/%2e%2e"),
    *("/%2Fexample.org/", "/%2F%2Fexample.org/..", "/%09/example.org/", "/files//example.org/.."),
)
"""Targets that redirect to example.org if a server redirects to their normalized form."""


def _ask(lab: Lab, target: str, method: str = "GET", body: bytes = b"") -> Response | None:
    """The response; None if the server closes the connection instead."""
    try:
        return lab.ask(target, method, body=body)
    except Closed:
        return None


def _fate(response: Response | None) -> str:
    """The fate of a request for ``/index``."""
    if response is None:
        return "closed"
    if response.status == 200 and response.body == _HELLO:
        return "served"
    if response.status == 404:
        return "not found"
    return {3: "redirected", 4: "refused", 5: "failed"}.get(
        response.status // 100, f"{response.status} with another body"
    )


def _reached(target: str, lab: Lab) -> str:
    return _fate(_ask(lab, target.format(url=lab.server.url)))


for _id, _target in _PATHS.items():
    asks(_id, "text")(partial(_reached, _target))


def _known(method: str, lab: Lab) -> str:
    response = _ask(lab, "/index", method)
    if response is not None and response.status in (405, 501):
        return str(response.status)
    return _fate(response)


for _id, _method in _METHODS.items():
    asks(_id, "text")(partial(_known, _method))


@asks("wrong-method", "text")
def wrong_method(lab: Lab) -> str:
    """An ``Allow`` without GET does not count."""
    response = _ask(lab, "/index", "POST", b"a=b")
    if response is None or response.status != 405:
        return _refused_or(_fate(response))
    allowed = re.split(r"[\s,]+", response.header("Allow") or "")
    return "405 with allow" if "GET" in allowed else "405 without allow"


def _refused_or(fate: str) -> str:
    """A 501 counts as refused, as a 4xx does."""
    return "refused" if fate == "failed" else fate


@asks("wrong-method-body", "text")
def wrong_method_body(lab: Lab) -> str:
    """The format of its 405."""
    return _format(_ask(lab, "/index", "POST", b"a=b"), 405)


@asks("unknown-path-by-delete", "text")
def unknown_path_by_delete(lab: Lab) -> str:
    """The format of its 404."""
    return _format(_ask(lab, "/nothing", "DELETE"), 404)


def _format(response: Response | None, status: int) -> str:
    """The format of an error's body."""
    if response is None or response.status != status:
        return f"no {status}"
    if not response.body:
        return "empty"
    essence = (response.content_type or "").split(";")[0].strip().lower()
    known = {
        "application/problem+json": "problem details",
        "application/json": "json",
        "text/html": "html",
    }
    return known.get(essence, "text")


@asks("post-to-unknown-path", "text")
def post_to_unknown_path(lab: Lab) -> str:
    """A 405 differs from other refusals: it suggests another method."""
    response = _ask(lab, "/nothing", "POST", b"a=b")
    if response is not None and response.status == 405:
        return "405"
    return _refused_or(_fate(response))


@asks("options-method", "text")
def options(lab: Lab) -> str:
    """A success with GET's body is not an answer to OPTIONS."""
    response = _ask(lab, "/index", "OPTIONS")
    fate = _refused_or(_fate(response))
    if response is None or fate == "served" or response.status // 100 != 2:
        return fate
    return "lists the methods" if response.header("Allow") else "lists nothing"


@asks("asterisk-form", "text")
def asterisk_form(lab: Lab) -> str:
    """Any success will do."""
    response = _ask(lab, "*", "OPTIONS")
    if response is not None and response.status // 100 == 2:
        return "answered"
    return "refused" if response is not None and response.status == 501 else _fate(response)


@asks("trace-method", "text")
def trace(lab: Lab) -> str:
    """A success that does not echo the request is a response to GET."""
    response = _ask(lab, "/index", "TRACE")
    if response is not None and response.status == 200 and b"TRACE /index" in response.body:
        return "echoed"
    return _refused_or(_fate(response))


def _head(lab: Lab, target: str) -> tuple[Response, bytes]:
    """The response to HEAD, and all bytes after its headers until the server closes."""
    with lab.server.connect(timeout=lab.patience) as connection:
        response = connection.request(Request(target, "HEAD", (("Connection", "close"),)))
        return response, connection.read_raw(lab.patience)


@asks("head-of-endpoint", "text")
def head(lab: Lab) -> str:
    """All bytes before the server closes count as the body."""
    get = lab.ask("/index")
    response, behind = _head(lab, "/index")
    if response.status != 200:
        return _refused_or(_fate(response))
    if behind:
        return "with a body"
    length = response.header("Content-Length")
    if length not in (None, str(len(get.body))):
        return "another length"
    return "as get" if length or not get.header("Content-Length") else "without a length"


@asks("head-of-unknown-path", "text")
def head_of_unknown_path(lab: Lab) -> str:
    """All bytes before the server closes count as the body."""
    try:
        response, behind = _head(lab, "/nothing")
    except Closed:
        return "closed"
    return "with a body" if behind else _refused_or(_fate(response))


@asks("redirect-elsewhere", "text")
def redirect_elsewhere(lab: Lab) -> str:
    """Resolve a Location as browsers do: backslashes are slashes, control characters vanish."""
    answer = "no redirect"
    for target in _ELSEWHERE:
        response = _ask(lab, target)
        location = response.header("Location") if response is not None else None
        if location is None:
            continue
        location = re.sub(r"[\x00-\x20]", "", location).replace("\\", "/")
        host = urlsplit(urljoin(lab.server.url + "/", location)).hostname or ""
        if host.endswith("example.org"):
            return "to another host"
        answer = "to its own host"
    return answer


def _negotiated(target: str, accept: str, lab: Lab) -> str:
    plain, negotiated = lab.ask(target), lab.ask(target, headers={"Accept": accept})
    if negotiated.status == 406:
        return "406"
    same = (negotiated.status, negotiated.content_type) == (plain.status, plain.content_type)
    return "ignored" if same and negotiated.body == plain.body else "another format"


asks("accept-html", "text")(partial(_negotiated, "/index", "text/html"))
asks("accept-xml", "json")(partial(_negotiated, "/json", "application/xml"))


@asks("accept-gzip", "mongo")
def accept_gzip(lab: Lab) -> str:
    """Asked for the longest text: few servers compress short ones."""
    response = lab.ask("/mongo?doc=big", headers={"Accept-Encoding": "gzip"})
    if (response.header("Content-Encoding") or "identity") == "identity":
        return "not compressed"
    assert gzip.decompress(response.body) == spec.expected("/mongo?doc=big").body
    vary = (response.header("Vary") or "").lower()
    return "compressed" if "accept-encoding" in vary else "compressed without vary"
