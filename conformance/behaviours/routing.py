"""The groups `routing`, which requests reach an endpoint, and `parameters`, how it parses them."""

import json
import re
from functools import partial
from urllib.parse import urljoin, urlsplit

from conformance.behaviours.lab import Lab, asks, fate
from conformance.http import Closed, Request, Response

# Targets that are equivalent to the page's, or nearly
_PATHS = {
    "trailing-slash": "{path}/",
    "upper-case-path": "{upper}",
    "doubled-slash": "/{path}",
    "dot-dot-segment": "/nothing/..{path}",
    "encoded-letter": "{encoded}",
    "absolute-form": "{url}{path}",
    "absolute-form-of-other-host": "http://other.example{path}",
    "fragment-in-target": "{path}#x",
}

_METHODS = {"unknown-method": "BREW", "lower-case-method": "get"}

# Targets that redirect to example.org if a server redirects to their normalized form. Browsers send
# them as they are; they would resolve `..` and `%2e%2e` first, and turn backslashes into slashes.
_ELSEWHERE = (
    *("//example.org", "//example.org/", "//example.org/index", "//example.org/index/"),
    *("//example.org//index", "//example.org/%2f..", "//example.org//%2f..", "///example.org"),
    *("///example.org/%2f..", "/index//example.org/", "/index//example.org/%2f.."),
    *("/files//example.org/%2f..", "/%5Cexample.org", "/%5Cexample.org/", "/%5Cexample.org/%2f.."),
    *("/%2Fexample.org/", "/%2Fexample.org/%2f..", "/%2F%2Fexample.org/%2f.."),
    *("/%09/example.org/", "/%09/example.org/%2f.."),
)

# Of ``/files`` and ``/index``, the variants that servers redirect to them
_REDIRECTED = ("/files/folder.txt", "/files", "/index/", "//index", "/INDEX", "/nothing/../index")


def _ask(lab: Lab, target: str, method: str = "GET", body: bytes = b"") -> Response | None:
    """The response; None if the server closes the connection instead."""
    try:
        return lab.ask(target, method, body)
    except Closed:
        return None


def _fate(lab: Lab, response: Response | None) -> str:
    """The fate of a request for the page."""
    if response is None:
        return "closed"
    if lab.page.is_in(response):
        return "served"
    status = str(response.status)
    return f"{status} with another body" if response.status < 300 else fate(status)


def _reached(target: str, lab: Lab) -> str:
    return _fate(lab, _ask(lab, lab.page.variant(target, lab.server.url)))


for _id, _target in _PATHS.items():
    asks(_id, "text", needs="get")(partial(_reached, _target))


def _known(method: str, lab: Lab) -> str:
    response = _ask(lab, "/index", method)
    if response is not None and response.status in (405, 501):
        return str(response.status)
    return _fate(lab, response)


for _id, _method in _METHODS.items():
    asks(_id, "text", needs="get")(partial(_known, _method))


@asks("wrong-method", "text")
def wrong_method(lab: Lab) -> str:
    """An ``Allow`` without GET does not count."""
    response = _ask(lab, "/index", "POST", b"a=b")
    if response is None or response.status != 405:
        return _refused_or(_fate(lab, response))
    allowed = re.split(r"[\s,]+", response.header("Allow") or "")
    return "405 with allow" if "GET" in allowed else "405 without allow"


def _refused_or(fate: str) -> str:
    """A 501 counts as refused, as a 4xx does."""
    return "refused" if fate == "failed" else fate


@asks("options-method", "text", needs="get")
def options(lab: Lab) -> str:
    """A success with GET's body is not an answer to OPTIONS."""
    response = _ask(lab, "/index", "OPTIONS")
    fate = _refused_or(_fate(lab, response))
    if response is None or response.status // 100 != 2:
        return fate
    allow = response.header("Allow")
    if fate == "served" and (lab.page.body or not allow):  # a page that varies is any 200
        return fate
    return "lists the methods" if allow else "lists nothing"


@asks("head-of-endpoint", "text", needs="get")
def head(lab: Lab) -> str:
    """All bytes before the server closes count as the body."""
    get = lab.ask("/index")
    with lab.server.connect(timeout=lab.patience) as connection:
        response = connection.request(Request("/index", "HEAD", (("Connection", "close"),)))
        behind = connection.read_raw(lab.patience)
    if response.status != 200:
        return _refused_or(_fate(lab, response))
    if behind:
        return "with a body"
    length = response.header("Content-Length")
    if lab.page.body is not None and length not in (None, str(len(get.body))):
        return "another length"
    return "as get" if length or not get.header("Content-Length") else "without a length"


@asks("redirect-elsewhere", "text", needs="get")
def redirect_elsewhere(lab: Lab) -> str:
    """Resolve a Location as browsers do (URL Standard): tabs vanish, backslashes are slashes."""
    answer = "no redirect"
    for target in _ELSEWHERE:
        response = _ask(lab, target)
        location = response.header("Location") if response is not None else None
        if location is None:
            continue
        location = location.replace("\t", "").replace("\\", "/")
        host = urlsplit(urljoin(lab.server.url + "/", location)).hostname or ""
        if host.endswith("example.org"):
            return "to another host"
        answer = "to its own host"
    return answer


@asks("host-in-redirect", "files")
def host_in_redirect(lab: Lab) -> str:
    """Of the paths that servers redirect, the first one that is."""
    for target in _REDIRECTED:
        try:
            location = lab.ask(target, Host="other.example").header("Location")
        except Closed:
            continue
        if location is not None:
            host = urlsplit(location).hostname
            return {None: "relative", "other.example": "the client's"}.get(host, "its own")
    return "no redirect"


# Parameters

# The value that makes a request line the longest that RFC 9112, section 3, recommends to support
_LONG = "a" * (8000 - len("GET /sleep?ms=5&x= HTTP/1.1"))

# Queries of ``/sleep``. However they are parsed, the right answer is not the default.
_QUERIES = {
    "plus-raw": "ms=+5",
    "decimal-point": "ms=5.0",
    "arabic-digit": "ms=%D9%A5",
    "underscore": "ms=1_0",
    "semicolon": "x=1;ms=5",
    "bad-escape-elsewhere": "x=%zz&ms=5",
    "brackets": "ms%5B%5D=5",
    "long-query": f"ms=5&x={_LONG}",
}


def _read(query: str, lab: Lab) -> str:
    """How ``/sleep`` parses a query."""
    try:
        response = lab.ask(f"/sleep?{query}")
    except Closed:
        return "closed"
    if response.status != 200:
        return str(response.status)
    slept = int(json.loads(response.body)["slept_ms"])
    return "served as the default" if slept == 1000 else f"served as {slept}"


for _id, _query in _QUERIES.items():
    asks(_id, "sleep")(partial(_read, _query))


@asks("repeated-parameter", "sleep")
def repeated(lab: Lab) -> str:
    """Two values that are good by themselves."""
    read = _read("ms=5&ms=6", lab)
    return {"served as 5": "the first", "served as 6": "the last"}.get(read, read)
