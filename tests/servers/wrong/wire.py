"""HTTP/1.1 on the wire, read strictly (RFC 9112), with faults and with other answers.

What is wrong with a request is recognised and named as the questions name it, and refused, unless
the server is switched to another answer to just this question.
"""

import asyncio
import contextlib
import os
import re
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus

from faults import closes_after_each, fault, switched

HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*")
FLOOD = re.compile(rb"9223372036854775807|7fffffffffffffff")
LONGEST_LINE = 16 * 1024
LONGEST_HEAD = 32 * 1024
MOST_HEADERS = 200
LONGEST_BODY = 1 << 20

# The questions about chunks, which no chunked request at all may reach
CHUNKS = (
    *("chunk-size-with-sign", "chunk-size-with-prefix", "chunk-size-17-digits"),
    *("chunk-without-crlf", "lf-after-chunk-data", "lf-after-chunk-size"),
    *("lf-in-chunk-extension", "request-in-trailer", "forbidden-trailer"),
)

# The questions that a body asks at these targets
BODIES = {
    "/index": "refused-body",
    "/nothing": "body-of-unknown-path",
    "/files/photo.jpg": "body-of-get",
}


@dataclass
class Request:
    method: str
    target: str
    version: tuple[int, int]
    headers: list[tuple[str, str]]
    body: bytes = b""
    accepted: bool = False  # whether it is answered with a success, whatever it asks for
    # The questions that its body asks by how it came
    asked: list[str] = field(default_factory=list)

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    def header(self, name: str) -> str | None:
        values = self.values(name)
        return ", ".join(values) if values else None

    def drop(self, name: str) -> None:
        self.headers = [(key, value) for key, value in self.headers if key != name]


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    body: bytes | AsyncIterator[bytes] = b""
    length: int | None = 0  # the Content-Length, unless it is among the headers; None to send none
    body_for_head: bool = False  # whether the body is also sent in response to HEAD
    chunked: bool = False  # whether the body is sent in chunks


class Refused(Exception):
    def __init__(self, status: int) -> None:
        self.status = status


class Closes(Exception):
    """The connection ends without a response."""


class Waits(Exception):
    """Nothing more is answered on the connection, which is left open."""


class Stalls(Exception):
    """Nothing more is read from the connection, which is left open."""


class Last(Exception):
    """The request is answered, and nothing after its head is read."""


class Accepted(Last):
    """The same, with a success."""


class Cut(Exception):
    """The body has ended before its announced length."""


Handler = Callable[[Request], Awaitable[Response]]


class Connection:
    """One client's connection: requests in, responses out, in order."""

    serialized = asyncio.Lock()
    open = 0

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handler: Handler,
        stopping: asyncio.Event,
    ) -> None:
        self.reader, self.writer = reader, writer
        self.handler, self.stopping = handler, stopping
        self.buffer = b""
        self.last = False  # whether the connection ends after the current response
        self.mute = False  # whether nothing is answered after the current response
        self.deadline: float | None = None  # when waiting for a request ends (time.monotonic)

    async def run(self) -> None:
        Connection.open += 1
        try:
            if fault("one-at-a-time"):
                async with self.serialized:
                    await self.loop()
            else:
                await self.loop()
        except Refused as refused:
            await self.refuse(refused.status)
        except Waits:
            await self.ignore()
        except Stalls:
            await asyncio.wait([asyncio.ensure_future(self.stopping.wait())], timeout=20)
        except Closes:
            pass
        except (ConnectionError, asyncio.IncompleteReadError, Cut):
            if fault("disconnect-kills"):
                os._exit(1)
        finally:
            Connection.open -= 1
            self.writer.close()

    async def loop(self) -> None:
        while not self.stopping.is_set():
            request = await self.read_request()
            if request is None or not await self.respond(request):
                return

    async def refuse(self, status: int) -> None:
        if fault("broken-kills"):
            os._exit(1)
        if fault("broken-blocks"):
            time.sleep(20)
        body = traceback.format_exc().encode() if fault("broken-trace") else b""
        self.writer.write(
            b"HTTP/1.1 %d Refused\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
            % (status, len(body), body)
        )
        with contextlib.suppress(ConnectionError):
            await self.writer.drain()

    async def ignore(self) -> None:
        """Answer nothing more until the client closes."""
        self.buffer = b""
        while await self.more():
            self.buffer = b""

    # Unusual requests

    def does(self, question: str, effects: dict[str, type[Exception]]) -> str | None:
        """Apply the answer to which a question is switched; return it if that does not raise."""
        answer = switched(question)
        if answer in effects:
            raise effects[answer]
        return answer

    def allows(self, question: str) -> str | None:
        """Return the answer to a question about something allowed, or end the request."""
        answer = self.does(question, {"closed": Closes, "waits": Waits})
        if answer == "refused":
            raise Refused(400)
        return answer

    def forbids(self, question: str, status: int = 400) -> None:
        """Refuse, unless the question is switched to serving the request."""
        effects = {"closed": Closes, "waits": Waits, "harmless": Accepted}
        answer = self.does(question, effects)
        if answer == "served, then closed":
            self.last = True
        elif answer not in (
            "served",
            "served as HTTP/0.9",
            "smuggled",
            "connection kept",
            "ignored",
            "read as one",
        ):
            statuses = {"failed": 500, "not exercised": 405, "redirected": 301}
            raise Refused(statuses.get(answer or "", status))

    # Reading

    async def more(self) -> bool:
        """Read on; False at the end of the connection, or of the server."""
        reading = asyncio.ensure_future(self.reader.read(1 << 16))
        stopping = asyncio.ensure_future(self.stopping.wait())
        limit = self.deadline - time.monotonic() if self.deadline else None
        both = (reading, stopping)
        await asyncio.wait(both, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not reading.done():
            reading.cancel()
            return False
        data = reading.result()
        self.buffer += data
        if fault("flood-kills") and (len(self.buffer) > 5_000 or FLOOD.search(self.buffer)):
            os._exit(1)
        return bool(data)

    async def read_request(self) -> Request | None:
        head = await self.read_head()
        if head is None:
            return None
        request = self.parse(head)
        try:
            self.check_head(request)
            request.body = await self.read_body(request)
        except Last as last:
            self.last = True
            request.accepted = isinstance(last, Accepted)
        return request

    def limit_waiting(self, question: str) -> None:
        seconds = {"within 10 s": 0.5, "within 35 s": 3.0}.get(switched(question) or "")
        self.deadline = time.monotonic() + seconds if seconds else None

    async def read_head(self) -> bytes | None:
        if not self.buffer:
            self.limit_waiting("idle-connection")
        while True:
            if self.buffer and self.deadline is None:
                self.limit_waiting("slow-head")
            if self.buffer.startswith(b"\r\n"):
                self.allows("empty-line-first")
                self.buffer = self.buffer[2:]
            self.check_unfinished(self.buffer.split(b"\r\n\r\n", 1)[0])
            if b"\r\n\r\n" in self.buffer:
                head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
                self.deadline = None
                return head
            if not await self.more():
                return None

    def check_unfinished(self, head: bytes) -> None:
        """Check an incomplete head for errors."""
        first, *lines = head.split(b"\r\n")
        if head and head[0] < 0x20 and head[0] not in b"\r\n":
            raise Refused(400)
        if re.search(rb"(?<!\r)\n", head):
            self.forbids("bare-lf")
            self.buffer = self.buffer.replace(b"\n", b"\r\n")
        elif re.search(rb"\r[^\n]", head):
            raise Refused(400)
        elif len(first) > LONGEST_LINE:
            raise Refused(414)
        elif any(len(line) > LONGEST_LINE for line in lines):
            self.forbids("header-of-64-kb", 431)
        elif len(lines) > MOST_HEADERS:
            self.forbids("5000-headers", 431)
        elif len(head) > LONGEST_HEAD:
            effects = {"closed": Closes, "waits": Stalls, "read": Waits}
            self.does("endless-head", effects)
            raise Refused(431)
        elif any(len(line) > 10_000 for line in lines):
            self.allows("header-of-12-kb")

    def parse(self, head: bytes) -> Request:
        first, *lines = head.split(b"\r\n")
        method, target, version = self.parse_request_line(first)
        request = Request(method, target, version, [])
        for line in lines:
            self.parse_header(request, line)
        return request

    def parse_request_line(self, line: bytes) -> tuple[str, str, tuple[int, int]]:
        words = line.split(b" ")
        match words:
            case [_]:
                raise Refused(400)
            case [method, target]:
                self.forbids("no-version")
                old = switched("no-version") == "served as HTTP/0.9"
                return method.decode(), target.decode(), (0, 9) if old else (1, 1)
            case [method, target, _, _]:
                self.forbids("space-in-target")
        method, target, version = words[0], words[1], words[-1]
        if not re.fullmatch(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+", method):
            raise Refused(400)
        if not re.fullmatch(rb"[!-~]+", target):
            raise Refused(400)
        if not re.fullmatch(rb"HTTP/\d\.\d", version):
            raise Refused(400)
        if version == b"HTTP/9.9":
            self.forbids("version-9-9", 505)
        elif version == b"HTTP/1.0":
            return method.decode(), target.decode(), (1, 0)
        elif version != b"HTTP/1.1":
            raise Refused(505)
        return method.decode(), target.decode(), (1, 1)

    def parse_header(self, request: Request, line: bytes) -> None:
        header = HEADER.fullmatch(line)
        if header is not None:
            request.headers.append((header[1].decode().lower(), header[2].decode("latin-1")))
            return
        before = request.headers[-1][0] if request.headers else ""
        name, colon, _ = line.partition(b":")
        if line.startswith(b" ") and before == "transfer-encoding":
            request.headers[-1] = ("folded-coding", line.strip().decode())
        elif line.startswith(b" "):
            self.forbids("folded-header")
        elif name == b"Transfer-Encoding ":
            request.headers.append(("coding-with-space", "chunked"))
        elif not colon:
            self.forbids("header-without-colon")
        elif name.endswith(b" "):
            self.forbids("space-before-colon")
        elif b"\0" in line:
            self.forbids("nul-in-header")
        else:
            raise Refused(400)

    def check_head(self, request: Request) -> None:
        hosts = len(request.values("host"))
        if hosts > 1:
            self.forbids("two-hosts")
        elif hosts == 0 and request.version == (1, 1):
            self.forbids("no-host")
        elif hosts == 0 and request.version == (1, 0):
            self.allows("http-1-0-without-host")
        if any(re.search(r"[ @]", host) for host in request.values("host")[:1]):
            self.forbids("invalid-host")
        if self.kept_1_0(request) == "refused":
            raise Refused(505)
        if request.header("upgrade") == "x":
            self.forbids("upgrade-with-body")
            request.drop("content-length")
        self.check_expectation(request)

    def check_expectation(self, request: Request) -> None:
        expected = request.header("expect")
        if expected == "100-continue":
            answer = self.does("expect-continue", {"closed": Closes, "waits": Waits})
            if answer == "final status":
                raise Last
            if switched("unexpected-body") not in (None, "asked for"):
                return
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        elif expected:
            raise Refused(417)

    async def read_body(self, request: Request) -> bytes:
        for odd in ("folded-coding", "coding-with-space"):
            if request.values(odd):
                self.forbids(odd)
                request.headers.append(("transfer-encoding", "chunked"))
                request.drop("content-length")
        codings = ", ".join(request.values("transfer-encoding")).lower()
        lengths = re.split(", *", ", ".join(request.values("content-length")))
        if codings and lengths != [""]:
            both = "chunked-and-identity" if "identity" in codings else "length-and-chunked"
            self.forbids(both)
        elif codings == "chunked, chunked":
            self.forbids("coding-twice")
        elif codings == "xchunked":
            self.forbids("xchunked", 501)
        elif codings and request.version == (1, 0):
            self.forbids("coding-in-http-1-0")
            request.version = (1, 1)  # so that the connection is kept
        elif codings not in ("", "chunked"):
            raise Refused(501)
        question = "unexpected-body" if request.header("expect") else BODIES.get(request.target)
        if question and (codings or lengths != [""]):
            answer = self.does(question, {"closed": Last})
            self.mute = answer == "waits"
            if answer == "taken for a request":
                return b""
        if codings:
            return await self.read_chunks(request)
        return await self.take(self.length(lengths))

    def length(self, lengths: list[str]) -> int:
        if len(lengths) > 1:
            if lengths[0] != "0":
                raise Refused(400)
            self.forbids("zero-and-length")
            return 0
        length = lengths[0] or "0"
        if length.startswith("+"):
            self.forbids("length-with-sign")
        elif not re.fullmatch(r"[0-9]{1,9}", length):
            self.forbids("length-in-words")
            return 0
        return int(length)

    async def take(self, size: int) -> bytes:
        if size > LONGEST_BODY and not switched("body-of-2-mb"):
            raise Refused(413)
        if len(self.buffer) < size:
            self.limit_waiting("slow-body")
        while len(self.buffer) < size:
            if fault("body-late-refused"):
                raise Refused(400)
            if not await self.more():
                raise asyncio.IncompleteReadError(self.buffer, size)
        self.deadline = None
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    async def line(self, end: bytes) -> bytes:
        while end not in self.buffer:
            if len(self.buffer) > 2 * LONGEST_BODY:
                raise Refused(400)
            if not await self.more():
                raise asyncio.IncompleteReadError(self.buffer, None)
        line, self.buffer = self.buffer.split(end, 1)
        return line

    async def read_chunks(self, request: Request) -> bytes:
        if any(switched(question) == "not exercised" for question in CHUNKS):
            raise Refused(405)
        body = bytearray()
        while size := await self.chunk_size(request):
            body += await self.take(size)
            if len(body) > LONGEST_BODY:
                raise Refused(413)
            end = await self.take(2)
            if end.startswith(b"\n"):
                self.forbids("lf-after-chunk-data")
                self.buffer = end[1:] + self.buffer
            elif end != b"\r\n":
                self.forbids("chunk-without-crlf")
        trailers = 0
        while trailer := await self.line(b"\r\n"):
            trailers += 1
            if trailers > MOST_HEADERS:
                raise Refused(431)
            if trailer.startswith(b"Content-Length: "):
                if switched("forbidden-trailer") == "taken":
                    await self.take(int(trailer.split()[1]) + 2)
                    break
                self.forbids("forbidden-trailer")
            if not HEADER.fullmatch(trailer):
                self.forbids("request-in-trailer")
                self.buffer = trailer + b"\r\n" + self.buffer
                break
        return bytes(body)

    async def chunk_size(self, request: Request) -> int:
        line = await self.line(b"\n")
        request.asked += ["chunk-extension-of-1-mb"] * (len(line) > 1 << 19)
        if b";" in line and switched("chunk-extension-of-1-mb") == "none taken":
            raise Refused(400)
        if line.endswith(b"\r"):
            line = line[:-1]
        elif b";" in line:
            self.forbids("lf-in-chunk-extension")
            await self.line(b"\r\n")
        else:
            self.forbids("lf-after-chunk-size")
        size = line.partition(b";")[0]
        if size.startswith(b"+"):
            self.forbids("chunk-size-with-sign")
        elif size.startswith(b"0x"):
            self.forbids("chunk-size-with-prefix")
        elif re.fullmatch(rb"1[0-9a-fA-F]{16}", size):
            self.forbids("chunk-size-17-digits")
            size = size[1:]
        elif not re.fullmatch(rb"[0-9a-fA-F]{1,8}", size):
            if self.does("responses-to-broken-body", {"none": Closes}) == "two":
                self.writer.write(b"HTTP/1.1 405 First\r\nContent-Length: 0\r\n\r\n")
            raise Refused(400)
        return int(size, 16)

    # Writing

    async def respond(self, request: Request) -> bool:
        """Answer a request; return whether the connection stays open."""
        if Connection.open > 50:
            for question in ("half-sent-requests", "silent-connections", "1000-connections"):
                answer = self.does(question, {"not": Waits})
                await asyncio.sleep(4 if answer == "within 15 s" else 0)
        pipelined = self.pipelined(request)
        if pipelined == "out of order":
            following = await self.read_request()
            assert following is not None
            await self.write(following, await self.handler(following), keep=True)
        if pipelined == "mixed up":
            self.buffer = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n" + self.buffer
        response = Response(200, {}) if request.accepted else await self.handle(request)
        keep = self.keeps(request) and pipelined != "closed"
        await self.write(request, response, keep)
        if pipelined == "dropped" or self.mute or self.kept_1_0(request) == "left open":
            raise Waits
        return keep

    async def handle(self, request: Request) -> Response:
        if switched("client-leaves") != "stopped":
            return await self.handler(request)
        handling = asyncio.ensure_future(self.handler(request))
        leaving = asyncio.ensure_future(self.more())
        await asyncio.wait((handling, leaving), return_when=asyncio.FIRST_COMPLETED)
        for one in (handling, leaving):
            one.cancel()
        return await handling

    def pipelined(self, request: Request) -> str | None:
        """The switched answer for pipelined requests."""
        if request.header("connection") == "close" or request.target == "/nothing":
            return None
        return switched("pipelining") if self.buffer else None

    def keeps(self, request: Request) -> bool:
        """Whether the connection stays open after the response."""
        if fault("closes-always") or closes_after_each() or self.last or self.stopping.is_set():
            return False
        if switched("keep-alive") == "closed":
            return False
        if request.version == (1, 0):
            return self.kept_1_0(request) in ("kept", "kept without saying so")
        closing = (request.header("connection") or "").lower() == "close"
        return request.version != (0, 9) and not closing

    def kept_1_0(self, request: Request) -> str | None:
        """The switched answer for an HTTP/1.0 request that asks for it."""
        kept = request.version == (1, 0) and request.header("connection") == "keep-alive"
        return switched("http-1-0-keep-alive") if kept else None

    async def write(self, request: Request, response: Response, keep: bool) -> None:
        if request.version != (0, 9):
            self.writer.write(self.head(request, response, keep))
        chunked = self.is_chunked(request, response)
        async for piece in self.pieces_of(request, response):
            self.writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            await self.writer.drain()
        if chunked:
            self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def pieces_of(self, request: Request, response: Response) -> AsyncIterator[bytes]:
        if request.method == "HEAD" and not (fault("head-body") or response.body_for_head):
            return
        if response.status == 304:
            return
        if isinstance(response.body, bytes):
            if response.body:
                yield response.body
            return
        async for piece in response.body:
            yield piece

    def is_chunked(self, request: Request, response: Response) -> bool:
        if request.method == "HEAD" or response.status == 304:
            return False
        gridfs = request.target.startswith("/gridfs") and response.status == 200
        return response.chunked or (gridfs and fault("gridfs-chunked"))

    def head(self, request: Request, response: Response, keep: bool) -> bytes:
        headers = {"Date": formatdate(usegmt=True)}
        match switched("date"):
            case "missing":
                del headers["Date"]
            case "another form":
                headers["Date"] = formatdate(localtime=True)
        if (product := switched("server-header")) not in (None, "none"):
            headers["Server"] = "Wrong/1.0" if product == "name and version" else "Wrong"
        if response.status != 304 and response.length is not None:
            headers["Content-Length"] = str(response.length)
        headers |= response.headers
        if self.is_chunked(request, response):
            headers.pop("Content-Length", None)
            headers["Transfer-Encoding"] = "chunked"
        if not keep:
            headers["Connection"] = "close"
        elif request.version == (1, 0) and self.kept_1_0(request) == "kept":
            headers["Connection"] = "keep-alive"
        lines = [f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")
