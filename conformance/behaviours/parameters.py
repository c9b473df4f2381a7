"""The group `parameters`: how the names and values of a query are parsed."""

import json
from functools import partial

from conformance.behaviours.lab import Lab, asks
from conformance.http import Closed

_DEFAULT = 1000  # milliseconds that ``/sleep`` sleeps by default

# Octets of a request line that RFC 9112, section 3, recommends to support
_REQUEST_LINE = 8000

_AROUND = len("GET /sleep?ms=5&x= HTTP/1.1")

# Queries of ``/sleep``. However they are parsed, the right answer is not the default.
_QUERIES = {
    "plus-raw": "ms=+5",
    "decimal-point": "ms=5.0",
    "arabic-digit": "ms=%D9%A5",
    "underscore": "ms=1_0",
    "semicolon": "x=1;ms=5",
    "bad-escape-elsewhere": "x=%zz&ms=5",
    "brackets": "ms[]=5",
    "long-query": f"ms=5&x={'a' * (_REQUEST_LINE - _AROUND)}",
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
    return "served as the default" if slept == _DEFAULT else f"served as {slept}"


for _id, _query in _QUERIES.items():
    asks(_id, "sleep")(partial(_read, _query))


@asks("repeated-parameter", "sleep")
def repeated(lab: Lab) -> str:
    """Two values that are good by themselves."""
    read = _read("ms=5&ms=6", lab)
    return {"served as 5": "the first", "served as 6": "the last"}.get(read, read)
