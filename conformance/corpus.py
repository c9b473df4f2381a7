"""A deterministic corpus of requests whose responses the contract defines to the byte.

A server's responses to all of them are hashed into its fingerprint, which is the same for every
server that serves the same parts of the contract.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

import spec
from conformance.expect import without_extras
from conformance.http import Response
from spec import Expected, media_types


@dataclass(frozen=True)
class Exchange:
    """A GET request and its right response."""

    part: str
    target: str

    @property
    def expected(self) -> Expected:
        return spec.expected(self.target)


def fingerprint(received: Iterable[tuple[Exchange, Response]]) -> str:
    """A hash of responses: their status, media type as the contract compares it, and body.

    A media type or a problem's ``detail`` that the contract leaves to the server is left out.
    """
    digest = hashlib.sha256()
    for exchange, response in received:
        expected = exchange.expected
        media_type = media_types.compared(response.header("Content-Type"), expected.media_type)
        body = without_extras(response) if expected.detail else response.body
        digest.update(json.dumps([exchange.target, response.status, media_type]).encode())
        digest.update(len(body).to_bytes(8) + body)
    return digest.hexdigest()


def corpus(parts: Iterable[str] = spec.ENDPOINTS) -> list[Exchange]:
    """Every exchange of these parts of the contract."""
    wanted, names = set(parts), [*map(quote, spec.files()), *MISSING]
    targets = {
        "text": ["/index", *UNKNOWN_PATHS],
        "json": ["/json"],
        "mongo": ["/mongo", *(f"/mongo?doc={doc}" for doc in ("small", "big", *BAD_DOCS))],
        "notes": [spec.ENDPOINTS["notes"].example, *(f"/notes/{id}" for id in UNKNOWN_IDS)],
        "agents": ["/agents"],
        "files": [f"/files/{name}" for name in names],
        "gridfs": [f"/gridfs/{name}" for name in names],
        "sleep": [f"/sleep?ms={value}" for value in ("0", "1", "7", *NOT_NUMBERS, "30001")],
        "slow_api": [
            *(f"/slow_api?{query}" for query in SLOW),
            *(f"/slow_api?calls={value}&ms=0" for value in (*NOT_NUMBERS, "0", "51")),
            *(f"/slow_api?calls=1&ms={value}" for value in (*NOT_NUMBERS, "5001")),
        ],
    }
    return [Exchange(part, one) for part in targets if part in wanted for one in targets[part]]


# Paths without an endpoint
UNKNOWN_PATHS = (
    *("/", "/nothing", "/indexx", "/inde", "/index/x", "/index.html", "/json/x", "/mongo/small"),
    *("/agents/300", "/sleep/5", "/file/photo.jpg", "/favicon.ico", "/robots.txt", "/admin"),
    *("/.git/config", "/%C3%A9", "/" + "x" * 200),
)

# Values of ``doc`` that are neither ``small`` nor ``big``
BAD_DOCS = ("", "Big", "medium", "1", "null", "small%20", "%22big%22", "%7B%22%24ne%22%3A1%7D")

# Ids of no note, most of which are no ids at all
UNKNOWN_IDS = ("f" * 24, "f" * 23, "f" * 25, "x" * 24, "1", "%C3%A9", "null")

# Values that are not integers, or outside every parameter's bounds
NOT_NUMBERS = ("", "abc", "ten", "-1", "1x", "NaN", "null", "99999999999999999999")

# Names of no file
MISSING = ("nothing.txt", "PHOTO.JPG", "photo", "photo.jpg.txt", "%C3%A9.txt")

# Queries that are served
SLOW = ("calls=1&ms=0", "calls=2&ms=1", "ms=1", "ms=1&calls=50")
