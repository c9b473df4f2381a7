import re
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import orjson
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import http, server
from twisted.web.resource import Resource
from zope.interface import implementer

ENTITY_TAG = re.compile(rb'"[^"]*"')


@dataclass(eq=False)
class Problem(Exception):
    status: int
    detail: str = ""
    headers: dict[str, str] = field(default_factory=dict)


class Request(server.Request):
    log = Logger()

    def process(self) -> None:
        if self.path.startswith(b"http://"):  # RFC 9112, section 3.2.2
            self.path = urlsplit(self.path).path or b"/"
        super().process()

    def reply(self, body: bytes, content_type: bytes) -> int:
        self.setHeader(b"Content-Type", content_type)
        self.setHeader(b"Content-Length", b"%d" % len(body))
        self.write(body)
        self.finish()
        return server.NOT_DONE_YET

    def reply_json(self, data: Any) -> int:
        return self.reply(orjson.dumps(data, default=str), b"application/json")

    async def stream(self, length: int, chunks: AsyncGenerator[bytes, None]) -> None:
        self.setHeader(b"Content-Length", b"%d" % length)
        if self.method == b"GET":
            flow = Flow()
            self.registerProducer(flow, True)
            try:
                async with aclosing(chunks):
                    async for chunk in chunks:
                        self.write(chunk)
                        if flow.paused:
                            await flow.paused
            finally:
                if self.channel:
                    self.unregisterProducer()
            if self.sentLength != length:
                raise EOFError(f"{self.sentLength} bytes came instead of {length}")
        self.finish()

    def setETag(self, etag: bytes) -> object:
        # Twisted's own compares strongly, and takes a list of tags apart at spaces alone
        self.etag = etag
        tags = b",".join(self.requestHeaders.getRawHeaders(b"If-None-Match", ()))
        if tags:
            self.requestHeaders.removeHeader(b"If-Modified-Since")
        if tags == b"*" or etag in ENTITY_TAG.findall(tags):
            self.setResponseCode(http.NOT_MODIFIED)
            return http.CACHED
        return None

    def setLastModified(self, when: float) -> object:
        with suppress(IndexError):  # which Twisted's own raises for ";", say
            return super().setLastModified(when)
        return None

    def processingFailed(self, reason: Failure) -> None:
        """Answer errors with problem details (RFC 9457), where Twisted has HTML."""
        if self.channel is None and reason.check(CancelledError):
            return  # the client has gone
        problem = reason.value
        if not isinstance(problem, Problem):
            self.log.failure("{method} {uri}", reason, method=self.method, uri=self.uri)
            problem = Problem(500)
        if self.startedWriting or self.channel is None:
            return self.loseConnection()  # the client must see that the body is cut
        self.setResponseCode(problem.status)
        for name, value in problem.headers.items():
            self.setHeader(name, value)
        title = HTTPStatus(problem.status).phrase
        body = {"type": "about:blank", "title": title, "status": problem.status}
        if problem.detail:
            body["detail"] = problem.detail
        self.reply(orjson.dumps(body), b"application/problem+json")


@implementer(IPushProducer)
class Flow:
    """What a coroutine awaits while the client does not read."""

    paused: Deferred[None] | None = None

    def pauseProducing(self) -> None:
        self.paused = self.paused or Deferred()

    def resumeProducing(self) -> None:
        paused, self.paused = self.paused, None
        if paused:
            paused.callback(None)

    def stopProducing(self) -> None:
        pass


class Page(Resource):
    """A path; it has ``segments`` more below it, which request.postpath holds."""

    segments = 0
    isLeaf = True

    def __post_init__(self) -> None:
        super().__init__()

    def render(self, request: Request) -> int:
        if len(request.postpath) != self.segments:
            raise Problem(404)
        if request.method not in (b"GET", b"HEAD"):
            raise Problem(405, headers={"Allow": "GET, HEAD"})
        return self.render_GET(request)


class SlowPage(Page):
    """A path that a coroutine answers, which is cancelled when the client goes."""

    def render_GET(self, request: Request) -> int:
        answer = Deferred.fromCoroutine(self.answer(request))
        request.notifyFinish().addErrback(lambda _: answer.cancel())
        answer.addErrback(request.processingFailed)
        return server.NOT_DONE_YET


class Root(Resource):
    def getChild(self, name: bytes, request: Request) -> Resource:
        raise Problem(404)


class Channel(http.HTTPChannel):
    delimiter = b"\n"  # so that a bare LF is refused; Twisted would wait for its CR

    def lineReceived(self, line: bytes) -> None:
        if line.endswith(b"\r"):
            super().lineReceived(line[:-1])
        else:
            self.loseConnection()

    def connectionMade(self) -> None:
        super().connectionMade()
        self.site.channels.add(self)

    def connectionLost(self, reason: Failure) -> None:
        super().connectionLost(reason)
        self.site.channels.discard(self)


class Site(server.Site):
    protocol = Channel
    requestFactory = Request

    def __init__(self, root: Resource) -> None:
        super().__init__(root)
        self.channels: set[Channel] = set()

    def log(self, request: Request) -> None:
        pass  # no access log

    def drain(self) -> Deferred[None]:
        """Finish what is in flight, for 10 s at most."""
        deadline = self.reactor.seconds() + 10

        def close_idle() -> None:
            for channel in self.channels.copy():
                if channel.requests:
                    channel.persistent = False
                else:
                    channel.loseConnection()
            if not self.channels or self.reactor.seconds() > deadline:
                closing.stop()

        closing = LoopingCall(close_idle)
        return closing.start(0.1)
