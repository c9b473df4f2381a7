"""What each endpoint answers, with faults."""

import asyncio
import json
import os
import re
import sys
import traceback
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import aiohttp
from bson import json_util
from databases import AWAY, Databases
from faults import fault
from files import Files
from wire import Connection, Request, Response

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
    charset = "; charset=utf-8" if fault("json-charset") else ""
    return answer(200, f"application/json{charset}", body.encode())


def problem(status: int, detail: str | None = None) -> Response:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    if detail is not None:
        body["detail"] = detail
    headers = {}
    if status == 405 and not fault("no-allow"):
        headers["Allow"] = "GET" if fault("allow-other") else "GET, HEAD"
    if status == 503 and not fault("no-retry-after"):
        headers["Retry_After"] = "1"
    if (status == 404 and fault("html-404")) or (status == 405 and fault("plain-405")):
        return answer(status, "text/html", b"<h1>Error</h1>", **headers)
    text = json.dumps(body, separators=(",", ":")).encode()
    return answer(status, "application/problem+json", text, **headers)


class Server:
    """Routes requests to endpoints."""

    def __init__(self, databases: Databases, files: Path, slow_api_url: str) -> None:
        self.databases = databases
        self.files = Files(files, databases)
        self.slow_api_url = slow_api_url
        self.served = 0
        self.last: Response | None = None
        self.session: aiohttp.ClientSession | None = None

    async def handle(self, request: Request) -> Response:
        self.served += 1
        if fault("access-log"):
            print(request.method, request.target, file=sys.stderr, flush=True)
        try:
            response = await self.route(request)
        except Problem as known:
            response = problem(known.status, known.detail)
        except AWAY:
            if fault("database-waited-for"):
                await asyncio.sleep(4)
            response = problem(self.databases.unavailable())
        except Exception:
            response = self.faulty()
        if fault("mixed-up") and self.served % 7 == 0 and self.last:
            return self.last
        if fault("wrong-after-many") and self.served % 400 == 0:
            return answer(200, TEXT, b"?")
        if fault("negotiates") and "html" in (request.header("accept") or ""):
            response.headers["Content-Type"] = "text/html"
        if fault("compresses") and "gzip" in (request.header("accept-encoding") or ""):
            response.headers["Content-Encoding"] = "gzip"
        if isinstance(response.body, bytes):
            self.last = response
        return response

    def faulty(self) -> Response:
        trace = traceback.format_exc()
        if not fault("fault-unlogged"):
            print(trace, file=sys.stderr, flush=True)
        if fault("trace-to-client"):
            return answer(500, TEXT, trace.encode())
        return problem(503 if fault("fault-503") else 500)

    async def route(self, request: Request) -> Response:
        path, _, query = request.target.partition("?")
        endpoint, name = self.find(path)
        if endpoint is None:
            raise Problem(404)
        allowed = ["GET", "HEAD"]
        if fault("head-405"):
            allowed.remove("HEAD")
        if request.method == "OPTIONS" and fault("options-200"):
            return answer(200, TEXT, b"", Allow="GET, HEAD")
        if request.method not in allowed and not fault("method-ignored"):
            raise Problem(405)
        if fault("query-refused") and query and endpoint in ("index", "json"):
            raise Problem(400, "no query is expected")
        members = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
        if fault("names-any-case"):
            members = [(key.lower(), value) for key, value in members]
        if endpoint in ("files", "gridfs"):
            assert name is not None
            return await self.file(request, endpoint, name)
        response: Response = await getattr(self, endpoint)(request, members)
        return response

    def find(self, path: str) -> tuple[str | None, str | None]:
        if fault("trailing-slash") and len(path) > 1:
            path = path.removesuffix("/")
        if fault("paths-any-case"):
            path = path.lower()
        if fault("docs-page") and path == "/docs":
            return "index", None
        endpoint, _, name = path.lstrip("/").partition("/")
        if path == f"/{endpoint}" and endpoint in ENDPOINTS:
            return endpoint, None
        if endpoint in ("files", "gridfs") and path.startswith(f"/{endpoint}/"):
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
        return answer(200, "text/plain" if fault("index-bare-type") else TEXT, body)

    async def json(self, request: Request, members: list[tuple[str, str]]) -> Response:
        return json_answer({"message": "Hello, World!"})

    async def mongo(self, request: Request, members: list[tuple[str, str]]) -> Response:
        slugs = [value for key, value in members if key == "doc"]
        if fault("doc-default-for-empty"):
            slugs = [slug for slug in slugs if slug]
        if fault("doc-twice"):
            slugs = slugs[:1]
        slugs = slugs or ["big" if fault("default-big") else "small"]
        if slugs not in (["small"], ["big"]) and not fault("doc-unchecked"):
            detail = "doc is bad" if fault("doc-other-detail") else "doc must be small or big"
            raise Problem(400, detail)
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
            await asyncio.sleep(max(ms - 20, 0) / 1000)
        elif not fault("sleeps-not"):
            await asyncio.sleep(ms / 1000 * (2 if fault("sleeps-twice") else 1))
        return json_answer({"slept_ms": ms})

    def integer(
        self, members: list[tuple[str, str]], name: str, default: int, low: int, high: int
    ) -> int:
        values = [value for key, value in members if key == name]
        if fault("number-default-for-empty"):
            values = [value for value in values if value]
        if fault("number-twice"):
            values = values[:1]
        if not values:
            return default
        form = r"\d{1,5}" if fault("number-unicode") else r"[0-9]{1,5}"
        if fault("number-long"):
            form = r"[0-9]{1,9}"
        if fault("number-lenient"):
            form = r"\s*\+?[0-9]{1,5}\s*"
        good = len(values) == 1 and re.fullmatch(form, values[0]) is not None
        if not good or not (low <= int(values[0]) <= high or fault("number-unbounded")):
            detail = f"{name} must be an integer from {low} to {high}"
            raise Problem(400, f"{name} is bad" if fault("number-other-detail") else detail)
        return min(int(values[0]), high)

    async def slow_api(self, request: Request, members: list[tuple[str, str]]) -> Response:
        if fault("ms-before-calls"):
            self.integer(members, "ms", 1000, 0, 5000)
        calls = self.integer(members, "calls", 10, 1, 50)
        ms = self.integer(members, "ms", 1000, 0, 5000)
        if fault("fan-out-invented"):
            invented = [{"call": number, "token": "0" * 16} for number in range(calls)]
            return json_answer({"results": invented})
        if self.session is None:
            self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
            self.few = asyncio.Semaphore(100)
        wanted = calls * 2 if fault("fan-out-twice") else calls
        waiting = [self.call(request, number % calls, ms) for number in range(wanted)]
        patience = 30 if fault("upstream-waited-for") else ms / 1000 + 5
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
            raise Problem(502 if fault("upstream-timeout-502") else 504) from None
        except aiohttp.ClientConnectorError:
            raise Problem(500 if fault("upstream-refusal-500") else 502) from None
        except aiohttp.ClientError:
            raise Problem(500 if fault("upstream-cut-500") else 502) from None
        except ValueError:
            raise Problem(500 if fault("upstream-text-500") else 502) from None
        results = results[:calls]
        if fault("fan-out-unordered"):
            results.reverse()
        return json_answer({"results": results})

    async def call(self, request: Request, number: int, ms: int) -> Any:
        request_id = request.header("x-request-id")
        if fault("request-id-dropped"):
            request_id = None
        if fault("request-id-invented"):
            request_id = request_id or "invented"
        assert self.session is not None
        limit = self.few if fault("fan-out-limited") else asyncio.Semaphore(1)
        async with (
            limit,
            self.session.get(
                self.slow_api_url,
                params={"call": number, "ms": ms},
                headers={"X-Request-Id": request_id} if request_id else None,
                allow_redirects=fault("upstream-redirects-followed"),
            ) as response,
        ):
            text = await response.read()
        result = json.loads(text)
        if response.status != 200 and not fault("upstream-status-ignored"):
            raise aiohttp.ClientError(f"status {response.status}")
        if not isinstance(result, dict) and not fault("upstream-array-passed"):
            raise aiohttp.ClientError("not an object")
        return result

    async def file(self, request: Request, endpoint: str, raw: str) -> Response:
        name = self.decoded(raw)
        if endpoint == "files":
            found = self.files.file(request, name) if name is not None else None
        elif name is None:
            found = None
        elif name.startswith(".") and fault("gridfs-dotfile-500"):
            raise Problem(500)
        else:
            self.check_availability()
            found = None if name.startswith(".") else await self.files.gridfs(request, name)
        if found is None:
            if fault("file-200-for-missing", "gridfs-200-for-missing"):
                return answer(200, "application/octet-stream", b"")
            missing = "missing-file-500" if endpoint == "files" else "missing-revision-500"
            raise Problem(500 if fault(missing) else 404)
        return found

    def decoded(self, raw: str) -> str | None:
        """The name; None where it cannot be any file's."""
        if fault("plus-is-space"):
            raw = raw.replace("+", " ")
        if fault("path-escape"):
            return os.fsdecode(unquote_to_bytes(raw))
        try:
            name = unquote_to_bytes(raw).decode()
            if fault("name-decoded-twice"):
                name = unquote_to_bytes(name).decode()
        except UnicodeDecodeError:
            return None
        if not name or "/" in raw or any(one in name for one in "/\\\0"):
            return None
        return name


ENDPOINTS = ("index", "json", "mongo", "agents", "sleep", "slow_api")
