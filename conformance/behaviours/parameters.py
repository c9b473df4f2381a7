"""The group `parameters`: how the names and values of a query are parsed."""

import json
import re
from functools import partial

from conformance.behaviours.lab import Lab, asks
from conformance.http import Closed

_DEFAULT = 1000
"""Milliseconds that ``/sleep`` sleeps by default."""

_REQUEST_LINE = 8000
"""Octets of a request line that RFC 9112, section 3, recommends to support."""

_AROUND = len("GET /sleep?ms=5&x= HTTP/1.1")

_QUERIES = {
    "plus-encoded": "ms=%2B5",
    "plus-raw": "ms=+5",
    "space-before": "ms=%205",
    "space-after": "ms=5%20",
    "decimal-point": "ms=5.0",
    "exponent": "ms=1e2",
    "hexadecimal": "ms=0x10",
    "arabic-digit": "ms=%D9%A5",
    "full-width-digit": "ms=%EF%BC%95",
    "leading-zeros": "ms=0010",
    "six-digits": "ms=000005",
    "underscore": "ms=1_0",
    "minus-zero": "ms=-0",
    "repeated-once-empty": "ms=&ms=5",
    "semicolon": "x=1;ms=5",
    "bad-escape": "ms=5%zz",
    "bad-escape-elsewhere": "x=%zz&ms=5",
    "nul-in-value": "ms=5%00",
    "invalid-utf-8": "ms=5%FF",
    "unknown-parameter": "ms=5&x=1",
    "upper-case-name": "MS=5",
    "brackets": "ms[]=5",
    "empty-name": "=&ms=5",
    "long-query": f"ms=5&x={'a' * (_REQUEST_LINE - _AROUND)}",
}
"""Queries of ``/sleep``. However they are parsed, the right answer is not the default."""


def _read(query: str, lab: Lab) -> str:
    """How ``/sleep`` parses a query."""
    try:
        response = lab.ask(f"/sleep?{query}")
    except Closed:
        return "closed"
    if response.status != 200:
        return str(response.status)
    slept = int(json.loads(response.body)["slept_ms"])
    return "served as the default" if slept == _DEFAULT else f"served as {slept}"


for _id, _query in _QUERIES.items():
    asks(_id, "sleep")(partial(_read, _query))


@asks("repeated-parameter", "sleep")
def repeated(lab: Lab) -> str:
    """Two values that are good by themselves."""
    read = _read("ms=5&ms=6", lab)
    return {"served as 5": "the first", "served as 6": "the last"}.get(read, read)


@asks("repeated-doc", "mongo")
def repeated_doc(lab: Lab) -> str:
    """Two values that are good by themselves."""
    response = lab.ask("/mongo?doc=small&doc=big")
    if response.status != 200:
        return str(response.status)
    slug: str = json.loads(response.body)["slug"]
    return {"small": "the first", "big": "the last"}[slug]


def _detail(lab: Lab, target: str) -> str | None:
    """The ``detail`` of a 400's problem document."""
    response = lab.ask(target)
    assert response.status == 400, f"{target}: {response.status}"
    detail: str | None = json.loads(response.body).get("detail")
    return detail


@asks("detail-of-400", "sleep")
def detail(lab: Lab) -> str:
    """Asked with a value that no server takes for a number."""
    said = _detail(lab, "/sleep?ms=abc")
    if said is None:
        return "absent"
    return "names the parameter" if re.search(r"\bms\b", said) else "does not name it"


@asks("two-bad-parameters", "slow_api")
def two_bad_parameters(lab: Lab) -> str:
    """Asked with ``ms`` first, which is last in the contract."""
    said = _detail(lab, "/slow_api?ms=abc&calls=abc") or ""
    named = [name for name in ("calls", "ms") if re.search(rf"\b{name}\b", said)]
    return {0: "neither", 1: "".join(named), 2: "both"}[len(named)]
