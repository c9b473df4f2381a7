"""The responses of each endpoint, with faults and switches."""

import asyncio
import json
import os
import random
import re
import sys
import traceback
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import aiohttp
from bson import json_util
from databases import AWAY, Databases
from faults import fault, switched
from files import Files
from notes import TITLES, Invalid, Notes, asked
from wire import Connection, Cut, Request, Response, Waits

TEXT = "text/plain; charset=utf-8"


class Problem(Exception):
    def __init__(self, status: int, detail: str | None = None) -> None:
        self.status, self.detail = status, detail


def answer(status: int, content_type: str, body: bytes, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, {"Content-Type": content_type} | named, body, len(body))


def json_answer(value: Any) -> Response:
    compact = None if fault("json-spaces") else (",", ":")
    body = json.dumps(
        value,
        ensure_ascii=fault("json-escaped"),
        separators=compact,
        sort_keys=fault("members-sorted"),
    )
    if fault("json-newline"):
        body += "\n"
    charset = "; charset=latin-1" if fault("json-other-charset") else ""
    kind = "text/plain" if fault("json-as-text") else "application/json"
    return answer(200, f"{kind}{charset}", body.encode())


def note_answer(note: dict[str, Any]) -> Response:
    return json_answer({"_id": str(note["_id"]), "title": note["title"], "text": note["text"]})


def problem(status: int, detail: object = None) -> Response:
    if detail is None and status == 404 and fault("404-with-detail"):
        detail = "there is nothing"
    if detail is not None and status == 400 and fault("detail-no-string"):
        detail = 400
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    if detail is not None:
        body["detail"] = detail
    text = json.dumps(body, separators=(",", ":")).encode()
    headers = {"Allow": "GET, HEAD"} if status == 405 else {}
    if (status == 404 and fault("html-404")) or (status == 500 and fault("fault-html")):
        return answer(status, "text/html", b"<h1>Error</h1>")
    if status == 400 and fault("plain-400"):
        return answer(status, TEXT, b"bad request")
    return answer(status, "application/problem+json", text, **headers)


def log_cause(text: str) -> None:
    if not fault("fault-unlogged"):
        print(text, file=sys.stderr, flush=True)


class Server:
    """Routes requests to endpoints."""

    def __init__(self, databases: Databases, files: Path, slow_api_url: str) -> None:
        self.databases = databases
        self.files = Files(files, databases)
        self.notes_of = Notes(databases)
        self.slow_api_url = slow_api_url
        self.served = 0
        self.last: Response | None = None
        self.session: aiohttp.ClientSession | None = None

    async def handle(self, request: Request) -> Response:
        self.served += 1
        try:
            response = switched_answer(request) or await self.route(request)
        except Problem as known:
            response = problem(known.status, known.detail)
        except (Cut, Waits):
            raise
        except AWAY as error:
            if fault("database-waited-for"):
                await asyncio.sleep(6)
            path = unquote_to_bytes(request.target).decode(errors="replace")
            shown = path if fault("log-forged") else repr(path)
            log_cause(f"{shown}: {error!r}")
            response = problem(self.databases.unavailable())
        except Exception:
            response = self.faulty()
        if fault("mixed-up") and self.served % 2 == 0 and self.last:
            return self.last
        if fault("wrong-after-many") and self.served % 100 == 0:
            return answer(200, TEXT, b"?")
        if fault("odd-status") and response.status == 200:
            response.status = 206
        if isinstance(response.body, bytes):
            self.last = response
        return response

    def faulty(self) -> Response:
        trace = traceback.format_exc()
        log_cause(trace)
        if fault("trace-to-client"):
            return answer(500, TEXT, trace.encode())
        return problem(503 if fault("fault-503") else 500)

    async def route(self, request: Request) -> Response:
        path, _, query = request.target.partition("?")
        endpoint, name = self.find(path)
        if endpoint is None:
            raise Problem(404)
        allowed = ("POST",) if path == "/notes" else ("GET", "HEAD")
        if request.method not in allowed and not fault("any-method"):
            if fault("method-runs") and endpoint == "slow_api":
                await self.slow_api(request, [("calls", "1"), ("ms", "0")])
            raise Problem(405)
        if endpoint == "notes":
            return await self.notes(request, name)
        members = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
        if endpoint in ("files", "gridfs"):
            assert name is not None
            return await self.file(request, endpoint, name)
        response: Response = await getattr(self, endpoint)(request, members)
        return response

    def find(self, path: str) -> tuple[str | None, str | None]:
        endpoint, _, name = path.lstrip("/").partition("/")
        if path == f"/{endpoint}" and endpoint in ENDPOINTS:
            return endpoint, None
        if endpoint in ("files", "gridfs", "notes") and path.startswith(f"/{endpoint}/"):
            return endpoint, name
        return None, None

    async def index(self, request: Request, members: list[tuple[str, str]]) -> Response:
        body = b"Hello, World!"
        if fault("index-newline"):
            body += b"\n"
        if fault("index-other-byte"):
            body = b"Hello, world!"
        if fault("wrong-under-load") and Connection.open > 20:
            body = b"Hello, World?"
        if fault("rarely-short-under-load") and Connection.open > 20 and random.random() < 0.02:
            body = body[:1]
        return answer(200, "text/plain" if fault("index-bare-type") else TEXT, body)

    async def json(self, request: Request, members: list[tuple[str, str]]) -> Response:
        response = json_answer({"message": "Hello, World!"})
        if (answer := switched("json-etag")) not in (None, "none"):
            response.headers["ETag"] = '"a"'
            if request.header("if-none-match") and answer == "304":
                return Response(304, {"ETag": '"a"'})
        return response

    async def mongo(self, request: Request, members: list[tuple[str, str]]) -> Response:
        slugs = [value for key, value in members if key == "doc"]
        if fault("doc-default-for-empty"):
            slugs = [slug for slug in slugs if slug]
        slugs = slugs or ["big" if fault("default-big") else "small"]
        if slugs not in (["small"], ["big"]) and not fault("doc-unchecked"):
            raise Problem(400, "doc must be small or big")
        self.check_availability()
        article = await self.databases.articles(slugs[0])
        if article is None:
            raise Problem(500 if fault("missing-document-500") else 404)
        if fault("article-without-id"):
            del article["_id"]
        if fault("id-extended"):
            return json_answer(json.loads(json_util.dumps(article)))
        if fault("long-extended") and "readers" in article:
            article["readers"] = {"$numberLong": str(article["readers"])}
        return json_answer(article | ({"_id": str(article["_id"])} if "_id" in article else {}))

    def check_availability(self) -> None:
        if fault("stays-unavailable") and self.databases.failed:
            raise Problem(503)

    async def notes(self, request: Request, id: str | None) -> Response:
        self.check_availability()
        if id is None and request.method != "POST":
            return json_answer([])
        if id is None:
            answers = [answer for one in asked(request) if (answer := switched(one))]
            if answers == ["waits"]:
                raise Waits
            if answers and answers[0] not in TITLES:
                return by_name(answers[0])
            try:
                note = await self.notes_of.create(request, TITLES.get("".join(answers)))
            except Invalid as error:
                if fault("note-refused-500"):
                    raise
                raise Problem(400, str(error)) from None
            response = note_answer(note)
            response.status = 200 if fault("note-200") else 201
            if not fault("note-without-location"):
                response.headers["Location"] = f"/notes/{note['_id']}"
            return response
        found = await self.notes_of.read(self.decoded(id) or "")
        if found is None:
            raise Problem(404)
        return note_answer(found)

    async def agents(self, request: Request, members: list[tuple[str, str]]) -> Response:
        self.check_availability()
        agents = await self.databases.agents()
        if fault("agents-empty-string"):
            agents = [{key: value or "" for key, value in agent.items()} for agent in agents]
        if fault("agents-number"):
            agents = [agent | {"number": int(agent["number"])} for agent in agents]
        return json_answer(agents)

    async def sleep(self, request: Request, members: list[tuple[str, str]]) -> Response:
        ms = self.integer(members, "ms", 1000, 0, 30000)
        if fault("sleeps-short"):
            await asyncio.sleep(ms / 2000)
        elif not fault("sleeps-not"):
            await asyncio.sleep(ms / 1000)
        return json_answer({"slept_ms": ms})

    def integer(
        self, members: list[tuple[str, str]], name: str, default: int, low: int, high: int
    ) -> int:
        values = [value for key, value in members if key == name]
        if fault("number-default-for-empty"):
            values = [value for value in values if value]
        if fault("number-text-default"):
            values = [value for value in values if re.fullmatch(r"[0-9]{1,5}", value)]
        if not values:
            return default
        good = len(values) == 1 and re.fullmatch(r"[0-9]{1,5}", values[0]) is not None
        if not good or not (low <= int(values[0]) <= high or fault("number-unbounded")):
            raise Problem(400, f"{name} must be an integer from {low} to {high}")
        return min(int(values[0]), high)

    async def slow_api(self, request: Request, members: list[tuple[str, str]]) -> Response:
        calls = self.integer(members, "calls", 10, 1, 50)
        ms = self.integer(members, "ms", 1000, 0, 5000)
        if fault("fan-out-invented"):
            invented = [{"call": number, "token": "0" * 16} for number in range(calls)]
            return json_answer({"results": invented})
        if self.session is None:
            self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        wanted = calls * 2 if fault("fan-out-twice") else calls
        waiting = [self.call(request, number % calls, ms) for number in range(wanted)]
        patience = 30 if fault("upstream-waited-for") else ms / 1000 + 5
        failed = 504 if fault("upstream-failed-504") else 502
        try:
            async with asyncio.timeout(patience):
                if fault("fan-out-sequential"):
                    results = [await one for one in waiting]
                elif fault("fan-out-narrow"):
                    results = await asyncio.gather(*waiting[:5])
                    results += await asyncio.gather(*waiting[5:])
                else:
                    results = await asyncio.gather(*waiting)
        except TimeoutError:
            raise self.failed_upstream(502 if fault("upstream-late-502") else 504) from None
        except aiohttp.ClientConnectorError:
            if fault("logs-each-call"):
                print("a call failed\n" * 2 * calls, file=sys.stderr, flush=True)
            raise self.failed_upstream(500 if fault("upstream-refusal-500") else 502) from None
        except aiohttp.ClientError:
            raise self.failed_upstream(500 if fault("upstream-cut-500") else failed) from None
        except ValueError:
            raise self.failed_upstream(500 if fault("upstream-text-500") else failed) from None
        results = results[:calls]
        if fault("fan-out-unordered"):
            results.reverse()
        return json_answer({"results": results})

    def failed_upstream(self, status: int) -> Problem:
        log_cause("the upstream fails")
        return Problem(status)

    async def call(self, request: Request, number: int, ms: int) -> Any:
        request_id = self.request_id(request)
        if fault("request-id-dropped"):
            request_id = None
        assert self.session is not None
        async with self.session.get(
            self.slow_api_url,
            params={"call": number, "ms": ms},
            headers={"X-Request-Id": request_id} if request_id else None,
            allow_redirects=fault("upstream-redirects-followed"),
        ) as response:
            text = await response.read()
        result = json.loads(text)
        if response.status != 200 and not fault("upstream-status-ignored"):
            raise aiohttp.ClientError(f"status {response.status}")
        if not isinstance(result, dict) and not fault("upstream-array-passed"):
            raise aiohttp.ClientError("not an object")
        return result

    def request_id(self, request: Request) -> str | None:
        underscored, values = request.values("x_request_id"), request.values("x-request-id")
        if underscored and (answer := switched("underscored-header")):
            if answer == "refused":
                raise Problem(400)
            return underscored[0] if answer == "taken" else None
        match switched("repeated-header") if len(values) > 1 else None:
            case "refused":
                raise Problem(400)
            case "the first":
                return values[0]
            case "the last":
                return values[1]
            case "neither":
                return None
        return request.header("x-request-id")

    async def file(self, request: Request, endpoint: str, raw: str) -> Response:
        response = self.files.switched_name(endpoint, raw)
        if response is not None:
            return response
        name, files, found = self.decoded(raw), endpoint == "files", None
        if name is not None and files:
            found = self.files.file(request, name)
        elif name is not None:
            self.check_availability()
            found = await self.files.gridfs(name)
        if found is None:
            if fault("file-200-for-missing", "gridfs-200-for-missing"):
                return answer(200, "application/octet-stream", b"")
            broken = fault("missing-file-500" if files else "missing-revision-500")
            raise Problem(500 if broken else 404)
        return found

    def decoded(self, raw: str) -> str | None:
        """The name; None if no file can have it."""
        if fault("path-escape"):
            return carelessly_decoded(raw)
        try:
            name = unquote_to_bytes(raw).decode()
            if fault("name-decoded-twice"):
                name = unquote_to_bytes(name).decode()
        except UnicodeDecodeError:
            return None
        if not name or "/" in raw or any(one in name for one in "/\\\0"):
            return None
        return name


ENDPOINTS = ("index", "json", "mongo", "notes", "agents", "sleep", "slow_api")


def carelessly_decoded(raw: str) -> str:
    """The name, as the least careful server would decode it."""
    name = unquote_to_bytes(unquote_to_bytes(raw))
    for written, read in (
        *((b"\xc0\xae", b"."), (b"\xc0\xaf", b"/"), (b"\\", b"/"), (b"\0", b""), (b";", b"")),
        (b"..../", b"../"),
    ):
        name = name.replace(written, read)
    return os.fsdecode(name)


# Switches: requests that ask a question of `behaviours.toml`, and its answers

# Questions by the first 32 characters of their request lines
ASKING = {
    "GET /index/": "trailing-slash",
    "GET /INDEX": "upper-case-path",
    "GET //index": "doubled-slash",
    "GET /nothing/../index": "dot-dot-segment",
    "GET /%69ndex": "encoded-letter",
    "GET http://HOST/index": "absolute-form",
    "GET http://other.example/index": "absolute-form-of-other-host",
    "GET /files/folder.txt": "host-in-redirect",
    "GET /index#x": "fragment-in-target",
    "POST /index": "wrong-method",
    "OPTIONS /index": "options-method",
    "BREW /index": "unknown-method",
    "get /index": "lower-case-method",
    "HEAD /index": "head-of-endpoint",
    "GET /sleep?ms=+5": "plus-raw",
    "GET /sleep?ms=5.0": "decimal-point",
    "GET /sleep?ms=%D9%A5": "arabic-digit",
    "GET /sleep?ms=1_0": "underscore",
    "GET /sleep?ms=5&ms=6": "repeated-parameter",
    "GET /sleep?x=1;ms=5": "semicolon",
    "GET /sleep?x=%zz&ms=5": "bad-escape-elsewhere",
    "GET /sleep?ms%5B%5D=5": "brackets",
    "GET /sleep?ms=5&x=aaaaaaaaaaaaaa": "long-query",
}


def switched_answer(request: Request) -> Response | None:
    """The response to a request of a switched question."""
    target = request.target.replace(f"http://{request.header('host')}/", "http://HOST/")
    line = f"{request.method} {target}"[:32]
    question = "redirect-elsewhere" if "example.org" in line else ASKING.get(line, "")
    name = switched(question)
    return None if name in (None, "as get") else by_name(name)


def by_name(name: str) -> Response:
    """The response for the answer of this name."""
    if name == "closed":
        raise Cut
    if name == "with a body":
        response = hello()
        response.body_for_head = True
        return response
    if name.isdigit():
        return problem(int(name))
    if name.startswith("served as "):
        ms = name.removeprefix("served as ")
        return json_answer({"slept_ms": 1000 if ms == "the default" else int(ms)})
    return ANSWERS[name]()


def hello() -> Response:
    return answer(200, TEXT, b"Hello, World!")


# Answers that mean the same for every question
ANSWERS: dict[str, Callable[[], Response]] = {
    "served": hello,
    "redirected": lambda: Response(308, {"Location": "/index"}),
    "not found": lambda: problem(404),
    "refused": lambda: problem(400),
    "failed": lambda: problem(500),
    "405 with allow": lambda: problem(405),
    "405 without allow": lambda: Response(405, {}),
    "lists the methods": lambda: Response(200, {"Allow": "GET, HEAD"}),
    "lists nothing": lambda: Response(200, {}),
    "without a length": lambda: Response(200, {"Content-Type": TEXT}, b"", None),
    "another length": lambda: Response(200, {"Content-Type": TEXT}),
    "no redirect": lambda: problem(404),
    "to its own host": lambda: Response(302, {"Location": "/example.org/index"}),
    "to another host": lambda: Response(302, {"Location": "//example.org/index"}),
    "relative": lambda: Response(301, {"Location": "/files/"}),
    "the client's": lambda: Response(301, {"Location": "http://other.example/"}),
    "its own": lambda: Response(301, {"Location": "http://wrong.example/"}),
    "the first": lambda: json_answer({"slept_ms": 5}),
    "the last": lambda: json_answer({"slept_ms": 6}),
}
