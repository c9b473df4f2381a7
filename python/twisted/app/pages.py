import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import orjson
from twisted.internet import reactor
from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.task import deferLater
from twisted.python.failure import Failure
from twisted.web.client import URI, Agent, HTTPConnectionPool, readBody
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgentEndpointFactory
from twisted.web.resource import Resource
from zope.interface import implementer

from app.db import MongoDB, PostgreSQL
from app.files import Files, GridFS
from app.settings import Settings
from app.site import Page, Problem, Request, Root, SlowPage

DIGITS = re.compile("[0-9]{1,5}")


def tree(settings: Settings, mongodb: MongoDB, postgresql: PostgreSQL) -> Resource:
    root = Root()
    root.putChild(b"index", Index())
    root.putChild(b"json", Hello())
    root.putChild(b"mongo", Article(mongodb))
    root.putChild(b"agents", Agents(postgresql))
    root.putChild(b"files", Files(settings.files_dir))
    root.putChild(b"gridfs", GridFS(mongodb))
    root.putChild(b"sleep", Sleep())
    root.putChild(b"slow_api", SlowApi(settings.slow_api_url))
    return root


def values(request: Request, name: str) -> list[str]:
    # request.args leaves out a name without "=", and ends a value at ";"
    query = request.uri.partition(b"?")[2].decode("latin-1")
    return parse_qs(query, keep_blank_values=True).get(name, [])


def integer(request: Request, name: str, default: int, low: int, high: int) -> int:
    match values(request, name):
        case []:
            return default
        case [text] if DIGITS.fullmatch(text) and low <= int(text) <= high:
            return int(text)
    raise Problem(400, f"{name} must be an integer from {low} to {high}")


class Index(Page):
    def render_GET(self, request: Request) -> int:
        return request.reply(b"Hello, World!", b"text/plain; charset=utf-8")


class Hello(Page):
    def render_GET(self, request: Request) -> int:
        return request.reply_json({"message": "Hello, World!"})


@dataclass(eq=False)
class Article(SlowPage):
    mongodb: MongoDB

    async def answer(self, request: Request) -> None:
        slugs = values(request, "doc") or ["small"]
        if slugs not in (["small"], ["big"]):
            raise Problem(400, "doc must be small or big")
        article = await self.mongodb.find_article(slugs[0])
        if article is None:
            raise Problem(404)
        request.reply_json(article)


@dataclass(eq=False)
class Agents(SlowPage):
    postgresql: PostgreSQL

    async def answer(self, request: Request) -> None:
        request.reply_json(await self.postgresql.find_agents())


class Sleep(SlowPage):
    async def answer(self, request: Request) -> None:
        ms = integer(request, "ms", default=1000, low=0, high=30000)
        await deferLater(reactor, ms / 1000)
        request.reply_json({"slept_ms": ms})


@implementer(IAgentEndpointFactory)
class Upstream:
    """Makes an endpoint once, which Agent by itself does for each request."""

    def __init__(self, url: str) -> None:
        uri = URI.fromBytes(url.encode())
        self.endpoint = HostnameEndpoint(reactor, uri.host, uri.port)

    def endpointForURI(self, uri: URI) -> HostnameEndpoint:
        return self.endpoint


class SlowApi(SlowPage):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        pool = HTTPConnectionPool(reactor)
        pool.maxPersistentPerHost = 1000
        self.agent = Agent.usingEndpointFactory(reactor, Upstream(url), pool)

    async def answer(self, request: Request) -> None:
        calls = integer(request, "calls", default=10, low=1, high=50)
        ms = integer(request, "ms", default=1000, low=0, high=5000)
        ids = request.requestHeaders.getRawHeaders(b"X-Request-Id")
        headers = Headers({b"X-Request-Id": ids} if ids else {})
        running = [Deferred.fromCoroutine(self.call(n, ms, headers)) for n in range(calls)]
        results = gatherResults(running, consumeErrors=True)
        try:
            results = await results.addTimeout(ms / 1000 + 5, reactor, onTimeoutCancel=late)
        except FirstError as error:
            raise Problem(502) from error
        finally:
            for one in running:
                one.cancel()
        request.reply_json({"results": results})

    async def call(self, number: int, ms: int, headers: Headers) -> dict[str, Any]:
        url = f"{self.url}?call={number}&ms={ms}"
        response = await self.agent.request(b"GET", url.encode(), headers)
        result = orjson.loads(await readBody(response))
        if response.code != 200 or not isinstance(result, dict):
            raise ValueError(f"the upstream answered {response.code} {result!r}")
        return result


def late(result: Failure, seconds: float) -> None:
    raise Problem(504)
