"""The correct response to a request, computed only from the contract and its fixtures."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from spec.content import (
    FILE_TYPES,
    agents,
    article,
    articles,
    content_type,
    files,
    json_body,
    notes,
    problem,
    upstream_result,
)

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Expected:
    """A correct response."""

    status: int
    # To be compared with :mod:`spec.media_types`; None if any is correct
    media_type: str | None
    body: bytes
    detail: bool = False  # whether the problem details may have a ``detail``


class _Bad(Exception):
    pass


def expected(target: str, stored: Mapping[str, bytes] | None = None) -> Expected:
    """The correct response to ``GET target``.

    ``stored`` are the files that are served, by name; the default is the fixtures. Targets that
    the contract leaves to the stack, such as ``/sleep?ms=+5``, have no correct response.
    """
    path, _, query = target.partition("?")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    endpoint, _, name = path.removeprefix("/").partition("/")
    try:
        if endpoint in ("files", "gridfs") and name:
            return _file(endpoint, unquote(name), stored if stored is not None else files())
        if endpoint == "notes" and name:
            return _note(unquote(name))
        return _endpoint(path, parameters)
    except _Bad:
        return _problem(400, detail=True)


def _problem(status: int, *, detail: bool = False) -> Expected:
    return Expected(status, PROBLEM, problem(status), detail)


def _json(value: object) -> Expected:
    return Expected(200, JSON, json_body(value))


def _endpoint(path: str, parameters: Mapping[str, str]) -> Expected:
    match path:
        case "/index":
            return Expected(200, TEXT, b"Hello, World!")
        case "/json":
            return _json({"message": "Hello, World!"})
        case "/mongo":
            slug = parameters.get("doc", "small")
            if slug not in {one["slug"] for one in articles()}:
                raise _Bad
            return _json(article(slug))
        case "/agents":
            return _json(agents())
        case "/sleep":
            return _json({"slept_ms": _integer(parameters, "ms", 1000, 0, 30000)})
        case "/slow_api":
            _integer(parameters, "ms", 1000, 0, 5000)
            calls = _integer(parameters, "calls", 10, 1, 50)
            return _json({"results": [upstream_result(call) for call in range(calls)]})
        case _:
            return _problem(404)


def _file(endpoint: str, name: str, stored: Mapping[str, bytes]) -> Expected:
    if name not in stored:
        return _problem(404)
    suffix = name[name.rfind(".") :] if "." in name else ""
    media_type = content_type(name) if endpoint == "gridfs" else FILE_TYPES.get(suffix)
    return Expected(200, media_type, stored[name])


def _note(id: str) -> Expected:
    found = [note for note in notes() if note["_id"] == id]
    return _json(found[0]) if found else _problem(404)


def _integer(parameters: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = parameters.get(name, str(default))
    if not re.fullmatch("[0-9]+", text) or not low <= int(text) <= high:
        raise _Bad
    return int(text)
