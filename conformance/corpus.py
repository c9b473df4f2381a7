"""A deterministic corpus of requests, each with the answer that the contract gives it.

The normalised responses of a server to all of it are hashed into its fingerprint, the same for
every server that serves the same parts of the contract.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from urllib.parse import quote

import spec
from conformance.expect import JSON, PROBLEM, TEXT
from conformance.http import Request, Response
from conformance.subject import EXAMPLES
from harness.upstream import token


@dataclass(frozen=True)
class Answer:
    """What of a response is the same for every server."""

    status: int
    content_type: str | None = None
    body: bytes = b""
    allow: str | None = None
    retry_after: str | None = None
    content_range: str | None = None


@dataclass(frozen=True)
class Exchange:
    """A request and its answer."""

    part: str
    request: Request
    answer: Answer
    name_is_odd: bool = False
    """Whether it asks for a file by a name that an HTTP layer may take for no name at all."""

    @property
    def may_be_refused(self) -> bool:
        """Whether a server's HTTP layer may refuse the request line with a 400 of its own."""
        malformed = re.search("%(?![0-9A-Fa-f]{2})", self.request.target) is not None
        return self.name_is_odd or malformed

    @property
    def name(self) -> str:
        """A short name that is its own."""
        headers = "".join(f" {name}={value}" for name, value in self.request.headers)
        return f"{self.request.method} {self.request.target[:60]}{headers}"


def normalised(exchange: Exchange, response: Response) -> Answer:
    """What of ``response`` has to be as the contract says."""
    status = response.status
    if status == 400 and exchange.may_be_refused:
        return exchange.answer
    if status in (304, 416):
        return Answer(status, content_range=response.header("Content-Range"))
    return Answer(
        status,
        response.content_type,
        response.body,
        response.header("Allow"),
        response.header("Retry-After"),
        response.header("Content-Range"),
    )


def fingerprint(answers: Iterable[tuple[Exchange, Answer]]) -> str:
    """The hash of a server's answers, in the order of the corpus: 64 hex digits."""
    digest = hashlib.sha256()
    for exchange, answer in answers:
        told = [exchange.name, *astuple(answer)]
        digest.update(json.dumps(told, default=lambda body: body.hex()).encode())
    return digest.hexdigest()


def corpus(parts: Iterable[str] = EXAMPLES) -> list[Exchange]:
    """Every exchange that asks for nothing but these parts of the contract."""
    return [exchange for exchange in _all() if exchange.part in set(parts)]


def _all() -> Iterator[Exchange]:
    yield from _constants()
    yield from _articles()
    yield from _sleep()
    yield from _slow_api()
    yield from _files()
    yield from _gridfs()
    yield from _unknown_paths()
    yield from _wrong_methods()


def _problem(status: int, detail: str | None = None) -> Answer:
    allow = "GET, HEAD" if status == 405 else None
    return Answer(status, PROBLEM, spec.problem(status, detail), allow)


def _with_head(part: str, target: str, answer: Answer) -> Iterator[Exchange]:
    yield Exchange(part, Request(target), answer)
    yield Exchange(part, Request(target, "HEAD"), Answer(**(vars(answer) | {"body": b""})))


def _constants() -> Iterator[Exchange]:
    queries = (
        "",
        "?",
        "?ms=nothing",
        "?doc=other&doc=other",
        "?a=b&c",
        "?%zz",
        "?x=%C3%A9",
        "?&&=&",
    )
    for part, path, answer in (
        ("text", "/index", Answer(200, TEXT, b"Hello, World!")),
        ("json", "/json", Answer(200, JSON, spec.json_body({"message": "Hello, World!"}))),
        ("agents", "/agents", Answer(200, JSON, spec.json_body(spec.agents()))),
    ):
        for query in queries:
            yield from _with_head(part, path + query, answer)


def _articles() -> Iterator[Exchange]:
    small, big = (Answer(200, JSON, spec.json_body(spec.article(s))) for s in ("small", "big"))
    for query, answer in (
        ("", small),
        ("?", small),
        ("?doc=small", small),
        ("?doc=big", big),
        ("?doc=%62ig", big),
        ("?%64oc=big", big),
        ("?other=1&doc=big&more=2", big),
        ("?DOC=big", small),
        ("?docs=big", small),
    ):
        yield from _with_head("mongo", "/mongo" + query, answer)
    for query in (
        *(
            "doc",
            "doc=",
            "doc=Big",
            "doc=BIG",
            "doc=medium",
            "doc=small%20",
            "doc=%20big",
            "doc=big,",
        ),
        *("doc=small&doc=big", "doc=big&doc=big", "doc=big&x=1&doc=", "doc=bi%67g", "doc=%FF"),
        *(
            "doc=big%00",
            "doc=%C3%A9",
            "doc=1",
            "doc=null",
            "doc=%5B%5D",
            "doc=%22big%22",
            "doc=+big",
        ),
        *("doc=big%0A", "doc=small;doc=big", "doc=%7B%22%24ne%22%3A1%7D", "doc=_id", "doc=%2562ig"),
    ):
        bad = _problem(400, "doc must be small or big")
        yield Exchange("mongo", Request(f"/mongo?{query}"), bad)


def _not_numbers(name: str, high: int) -> Iterator[str]:
    values = (
        *(
            "",
            "abc",
            "-1",
            "%2B1",
            "+1",
            "1.0",
            "1e2",
            "0x1",
            "%201",
            "1%20",
            "1,0",
            "1_0",
            "%00",
            "1%00",
        ),
        *(
            "1%0A",
            "%EF%BC%91",
            "%D9%A1",
            "%C2%B2",
            "%FF",
            "%zz",
            "null",
            "true",
            "NaN",
            "%2531",
            "1;2",
        ),
        *("000001", "100000", "99999999999999999999", str(high + 1), "99999"),
    )
    yield name
    for value in values:
        yield f"{name}={value}"
    yield from (
        f"{name}=1&{name}=1",
        f"{name}=1&x=y&{name}=",
        f"{name}=&{name}=1",
        f"%{ord(name[0]):x}{name[1:]}=x",
    )


def _sleep() -> Iterator[Exchange]:
    for query, ms in (
        *(("ms=0", 0), ("ms=1", 1), ("ms=7", 7), ("ms=00005", 5), ("ms=%35", 5), ("ms=00000", 0)),
        *(("%6Ds=3", 3), ("x=1&ms=2&y=2", 2), ("MS=x&ms=4", 4), ("ms[]=x&ms=6", 6), ("&ms=1&", 1)),
        *(("calls=x&ms=1", 1), ("doc=x&ms=1", 1)),
    ):
        answer = Answer(200, JSON, spec.json_body({"slept_ms": ms}))
        yield from _with_head("sleep", f"/sleep?{query}", answer)
    for query in _not_numbers("ms", 30000):
        bad = _problem(400, "ms must be an integer from 0 to 30000")
        yield Exchange("sleep", Request(f"/sleep?{query}"), bad)


def _slow_api() -> Iterator[Exchange]:
    for query, calls in (
        *(("calls=1&ms=0", 1), ("calls=2&ms=1", 2), ("ms=1", 10), ("ms=1&calls=50", 50)),
        *(("calls=00003&ms=00001", 3), ("%63alls=4&ms=0", 4), ("CALLS=x&calls=5&ms=0&call=9", 5)),
    ):
        results = [{"call": call, "token": token(call)} for call in range(calls)]
        answer = Answer(200, JSON, spec.json_body({"results": results}))
        yield Exchange("slow_api", Request(f"/slow_api?{query}"), answer)
    calls_bad = _problem(400, "calls must be an integer from 1 to 50")
    for query in (*_not_numbers("calls", 50), "calls=0", "calls=0&ms=x", "ms=x&calls=51"):
        if query.startswith("calls="):
            query = f"{query}&ms=0" if "&" not in query else query
        yield Exchange("slow_api", Request(f"/slow_api?{query}"), calls_bad)
    for query in _not_numbers("ms", 5000):
        bad = _problem(400, "ms must be an integer from 0 to 5000")
        yield Exchange("slow_api", Request(f"/slow_api?calls=1&{query}"), bad)


BAD_NAMES = (
    *("", "nothing.txt", "PHOTO.JPG", "photo.jpg.", "photo", "photo.jpg%20", "%20photo.jpg"),
    *(
        "two+words.txt",
        "cafe%CC%81.txt",
        "100%25+1.txt",
        "100%25%32%35+1.txt/",
        "photo.jpg/",
        "photo.jpg/x",
    ),
    *(".hidden.txt", "%2ehidden.txt", "%2Ehidden.txt", "..", ".", "%2e", "%2e%2e", "..."),
    *("folder.txt", "folder.txt%2finside.txt", "folder.txt%2Finside.txt", "folder.txt/inside.txt"),
    *("leaving.txt", "..%2foutside.txt", "..%2Foutside.txt", "%2e%2e%2foutside.txt"),
    *("..%5coutside.txt", "%2e%2e%5coutside.txt", "folder.txt%5cinside.txt", "%5c", "photo.jpg%5c"),
    *("%2fetc%2fpasswd", "%2f", "%2Fphoto.jpg", "folder.txt%2f..%2fphoto.jpg", ".%2fphoto.jpg"),
    *("..%252foutside.txt", "%252e%252e%252foutside.txt", "photo%2ejpg%2e", "photo.jpg%3f"),
)
"""Names that are no file's, or that no server may serve."""

UNDECODABLE_NAMES = (
    *("photo.jpg%00", "%00", "a%00b", "photo.jpg%00.txt", "%ff", "photo%ff.jpg", "%c0%ae%c0%ae"),
    *("%c0%ae%c0%ae%c0%afoutside.txt", "%ed%a0%80", "%zz", "%", "photo.jpg%", "%e9"),
)
"""Names that hold NUL, invalid UTF-8 or broken percent-encoding."""

UNUSUAL_ENCODINGS = (
    "ph%6Fto.jpg",
    "photo%2Ejpg",
    "%70hoto.jpg",
    "two%20word%73.txt",
    "100%2525%2B1.txt",
)
"""Other spellings of names that are there."""


def _names(part: str) -> Iterator[Exchange]:
    for name, content in spec.files().items():
        answer = Answer(200, spec.content_type(name), content)
        yield from _with_head(part, f"/{part}/{quote(name)}", answer)
    yield from _with_head(
        part, f"/{part}/photo.jpg?x=1&ms=x", Answer(200, "image/jpeg", spec.files()["photo.jpg"])
    )
    for spelling, name in zip(
        UNUSUAL_ENCODINGS,
        ("photo.jpg", "photo.jpg", "photo.jpg", "two words.txt", "100%25+1.txt"),
        strict=True,
    ):
        answer = Answer(200, spec.content_type(name), spec.files()[name])
        yield Exchange(part, Request(f"/{part}/{spelling}"), answer)
    for name in BAD_NAMES:
        yield Exchange(part, Request(f"/{part}/{name}"), _problem(404), "%" in name or name == "..")
    for name in UNDECODABLE_NAMES:
        yield Exchange(part, Request(f"/{part}/{name}"), _problem(404), name_is_odd=True)
    yield Exchange(part, Request(f"/{part}/nothing.txt", "HEAD"), Answer(404, PROBLEM))
    any_tag = (("If-None-Match", "*"),)
    yield Exchange(part, Request(f"/{part}/photo.jpg", headers=any_tag), Answer(304))


def _files() -> Iterator[Exchange]:
    yield from _names("files")
    content = spec.files()["photo.jpg"]
    size = len(content)
    for value, first, last in (
        *(
            ("0-0", 0, 0),
            ("0-99", 0, 99),
            ("100-199", 100, 199),
            ("5-", 5, size - 1),
            ("0-", 0, size - 1),
        ),
        *(("-1", size - 1, size - 1), ("-500", size - 500, size - 1), (f"-{size}", 0, size - 1)),
        *(
            ("-99999999", 0, size - 1),
            ("10-99999999", 10, size - 1),
            (f"{size - 1}-", size - 1, size - 1),
        ),
        *((f"{size - 2}-{size - 1}", size - 2, size - 1), ("00-07", 0, 7)),
    ):
        answer = Answer(
            206,
            "image/jpeg",
            content[first : last + 1],
            content_range=f"bytes {first}-{last}/{size}",
        )
        yield Exchange("files", _range(value), answer)
    for value in (f"{size}-", f"{size}-{size + 9}", "99999999-", "99999999-99999999"):
        yield Exchange("files", _range(value), Answer(416, content_range=f"bytes */{size}"))


def _range(value: str) -> Request:
    return Request("/files/photo.jpg", headers=(("Range", f"bytes={value}"),))


def _gridfs() -> Iterator[Exchange]:
    yield from _names("gridfs")
    whole = Answer(200, "image/jpeg", spec.files()["photo.jpg"])
    for value in ("bytes=0-9", "bytes=-5", "bytes=99999999-", "bytes=x", "bytes=0-1,5-6"):
        request = Request("/gridfs/photo.jpg", headers=(("Range", value),))
        yield Exchange("gridfs", request, whole)


UNKNOWN_PATHS = (
    *(
        "/",
        "/?",
        "/nothing",
        "/index/",
        "/Index",
        "/INDEX",
        "/indexx",
        "/inde",
        "/index.html",
        "/index/x",
    ),
    *(
        "/json/",
        "/JSON",
        "/json/x",
        "/json.json",
        "/mongo/",
        "/mongo/small",
        "/agents/",
        "/agents/300",
    ),
    *(
        "/sleep/",
        "/sleep/5",
        "/slow_api/",
        "/slow-api",
        "/slowapi",
        "/file/photo.jpg",
        "/files",
        "/gridfs",
    ),
    *(
        "/Files/photo.jpg",
        "/GRIDFS/photo.jpg",
        "/favicon.ico",
        "/robots.txt",
        "/docs",
        "/openapi.json",
    ),
    *(
        "/static/photo.jpg",
        "/admin/",
        "/.git/config",
        "/index%20",
        "/index%2f",
        "/%C3%A9",
        "/index%3fms=1",
    ),
    "/" + "x" * 200,
)
"""Paths that are no endpoint's."""


def _unknown_paths() -> Iterator[Exchange]:
    for path in UNKNOWN_PATHS:
        yield Exchange("text", Request(path), _problem(404), name_is_odd="%" in path)
    for path in ("/nothing", "/index/", "/"):
        yield Exchange("text", Request(path, "HEAD"), Answer(404, PROBLEM))
        yield Exchange("text", Request(path, "POST", body=b"x=1"), _problem(404))


METHODS = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def _wrong_methods() -> Iterator[Exchange]:
    for part, target in EXAMPLES.items():
        for method in METHODS:
            body = b'{"a":1}' if method in ("POST", "PUT", "PATCH") else b""
            yield Exchange(part, Request(target, method, body=body), _problem(405))
