"""HTTP/1.1 on the wire, read strictly (RFC 9112), with faults."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate

from faults import fault

REQUEST_LINE = re.compile(rb"([A-Za-z]+) ([!-~]+) HTTP/(\d)\.(\d)")
HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*")
LONGEST_HEAD = 32 * 1024


@dataclass
class Request:
    method: str
    target: str
    version: tuple[int, int]
    headers: list[tuple[str, str]]
    body: bytes = b""

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key == name]
        return ", ".join(values) if values else None


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    body: bytes | AsyncIterator[bytes] = b""
    length: int = 0
    extra: dict[str, str] = field(default_factory=dict)


class Refused(Exception):
    def __init__(self, status: int) -> None:
        self.status = status


class Cut(Exception):
    """The body has ended before its announced length."""


Handler = Callable[[Request], Awaitable[Response]]

REASONS = {
    200: "OK", 206: "Partial Content", 304: "Not Modified", 400: "Bad Request", 404: "Not Found",
    405: "Method Not Allowed", 413: "Content Too Large", 416: "Range Not Satisfiable",
    431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented",
    502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    505: "HTTP Version Not Supported",
}  # fmt: skip


class Connection:
    """One client's connection: requests in, responses out, in order."""

    serialized = asyncio.Lock()
    two = asyncio.Semaphore(2)
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
        self.served = 0

    async def run(self) -> None:
        Connection.open += 1
        try:
            if fault("drops-many") and Connection.open > 100:
                return
            if fault("one-at-a-time"):
                async with self.serialized:
                    await self.loop()
            else:
                await self.loop()
        except Refused as refused:
            await self.refuse(refused.status)
        except (ConnectionError, asyncio.IncompleteReadError, Cut):
            if fault("disconnect-kills"):
                raise SystemExit(1) from None
        finally:
            Connection.open -= 1
            self.writer.close()

    async def loop(self) -> None:
        while not self.stopping.is_set():
            request = await self.read_request()
            if request is None:
                return
            if not await self.respond(request):
                return

    async def refuse(self, status: int) -> None:
        if fault("broken-hangs") or (self.served and fault("second-broken-hangs")):
            await asyncio.sleep(20)
        if fault("broken-kills"):
            raise SystemExit(1)
        if fault("broken-500"):
            status = 500
        self.writer.write(
            b"HTTP/1.1 %d Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status
        )
        await self.writer.drain()

    # Reading

    async def more(self) -> bool:
        data = await self.reader.read(1 << 16)
        self.buffer += data
        return bool(data)

    async def read_request(self) -> Request | None:
        while b"\r\n\r\n" not in self.buffer:
            if re.search(rb"(?<!\r)\n", self.buffer) or re.search(rb"\r[^\n]", self.buffer):
                if fault("broken-served") and b"\r\r" in self.buffer:
                    self.buffer = b"GET /index HTTP/1.1\r\nHost: x\r\n\r\n"
                    continue
                if fault("broken-waits"):
                    time.sleep(12)
                raise Refused(400)
            if len(self.buffer) > LONGEST_HEAD:
                raise Refused(431)
            if fault("slow-request-refused") and 0 < len(self.buffer) < 30:
                raise Refused(408)
            waiting = asyncio.ensure_future(self.more())
            stopping = asyncio.ensure_future(self.stopping.wait())
            await asyncio.wait((waiting, stopping), return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not waiting.done():
                waiting.cancel()
                return None
            if not waiting.result():
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if len(head) > LONGEST_HEAD or head.count(b"\r\n") > 200:
            raise Refused(431)
        request = self.parse(head)
        request.body = await self.read_body(request)
        return request

    def parse(self, head: bytes) -> Request:
        first, *lines = head.split(b"\r\n")
        line = REQUEST_LINE.fullmatch(first)
        if (
            line is None
            or b"\n" in head.replace(b"\r\n", b"")
            or b"\r" in head.replace(b"\r\n", b"")
        ):
            if fault("broken-served"):
                return Request("GET", "/index", (1, 1), [])
            raise Refused(400)
        if line[3] != b"1" or line[4] not in b"01":
            raise Refused(505)
        headers = []
        for one in lines:
            header = HEADER.fullmatch(one)
            if header is None:
                if fault("smuggled") and b"Encoding :" in one:
                    continue
                raise Refused(400)
            headers.append((header[1].decode().lower(), header[2].decode("latin-1")))
        request = Request(line[1].decode(), line[2].decode(), (int(line[3]), int(line[4])), headers)
        hosts = sum(name == "host" for name, _ in headers)
        if hosts > 1 or (hosts == 0 and request.version == (1, 1)):
            raise Refused(400)
        return request

    async def read_body(self, request: Request) -> bytes:
        length, coding = request.header("content-length"), request.header("transfer-encoding")
        if fault("body-left-unread"):
            return b""
        if fault("smuggled") and length and coding:
            coding = None if "identity" in coding else coding
            length = None if coding else length
        if coding is not None and length is not None:
            raise Refused(400)
        if coding is not None and coding.lower() != "chunked":
            raise Refused(501)
        if length is not None and not re.fullmatch(r"[0-9]{1,9}", length):
            if fault("smuggled"):
                return b""
            raise Refused(400)
        if request.header("expect") and not fault("expect-ignored"):
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if coding is not None:
            return await self.read_chunks()
        return await self.take(int(length or 0))

    async def take(self, size: int) -> bytes:
        if size > 1 << 20:
            raise Refused(413)
        while len(self.buffer) < size:
            if not await self.more():
                raise asyncio.IncompleteReadError(self.buffer, size)
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    async def read_chunks(self) -> bytes:
        body = b""
        while True:
            while b"\r\n" not in self.buffer:
                if not await self.more():
                    raise asyncio.IncompleteReadError(self.buffer, None)
            line, self.buffer = self.buffer.split(b"\r\n", 1)
            if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", line):
                raise Refused(400)
            size = int(line, 16)
            body += await self.take(size)
            if await self.take(2) != b"\r\n":
                raise Refused(400)
            if size == 0:
                return body

    # Writing

    async def respond(self, request: Request) -> bool:
        if fault("two-at-a-time"):
            async with self.two:
                response = await self.handler(request)
        elif fault("pipelined-out-of-order") and b"HTTP/1.1\r\n" in self.buffer:
            following = await self.read_request()
            assert following is not None
            await self.write(following, await self.handler(following), keep=True)
            response = await self.handler(request)
        else:
            response = await self.handler(request)
        if fault("pipelined-swallowed"):
            self.buffer = b""
        self.served += 1
        keep = self.keeps(request, response)
        await self.write(request, response, keep)
        return keep and not (fault("closes-silently") and self.served > 4)

    def keeps(self, request: Request, response: Response) -> bool:
        if fault("closes-always") or self.stopping.is_set():
            return False
        if fault("error-closes") and response.status >= 400:
            return False
        asked = (request.header("connection") or "").lower()
        if request.version == (1, 0):
            return fault("close-ignored-10")
        return asked != "close" or fault("close-ignored")

    async def write(self, request: Request, response: Response, keep: bool) -> None:
        head, body = self.head(request, response, keep), response.body
        without_body = request.method == "HEAD" or response.status == 304
        if fault("head-body") and request.method == "HEAD":
            without_body = False
        if fault("head-404-body") and request.method == "HEAD" and response.status == 404:
            without_body = False
        if fault("304-with-body") and response.status == 304:
            without_body, body = False, b"not modified"
        self.writer.write(head)
        if without_body:
            body = b""
        if isinstance(body, bytes):
            if fault("chunked-body") and not without_body:
                body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
            self.writer.write(body)
        else:
            async for piece in body:
                if fault("gridfs-chunked") and request.target.startswith("/gridfs"):
                    piece = b"%x\r\n%s\r\n" % (len(piece), piece)
                self.writer.write(piece)
                buffered = self.writer.transport.get_write_buffer_size()
                if fault("reads-ahead") and buffered < 6 << 20:
                    continue
                if not fault("file-in-memory", "gridfs-in-memory"):
                    await self.writer.drain()
            if fault("gridfs-chunked") and request.target.startswith("/gridfs"):
                self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    def head(self, request: Request, response: Response, keep: bool) -> bytes:
        headers = {"Date": formatdate(usegmt=True)} | response.headers
        if fault("no-date"):
            del headers["Date"]
        if fault("stale-date"):
            headers["Date"] = formatdate(0, usegmt=True)
        if fault("local-date"):
            headers["Date"] = formatdate(localtime=True)
        if fault("powered-by"):
            headers["X-Powered-By"] = "Wrong"
        if response.status != 304:
            headers["Content-Length"] = str(response.length)
        if request.method == "HEAD" and fault("head-without-length"):
            del headers["Content-Length"]
        if request.method == "HEAD" and fault("head-other-type"):
            headers["Content-Type"] = "text/html"
        if fault("304-with-body") and response.status == 304:
            headers["Content-Length"] = "12"
        whole = isinstance(response.body, bytes) and request.method != "HEAD"
        gridfs = request.target.startswith("/gridfs") and response.status == 200
        if (fault("chunked-body") and whole) or (fault("gridfs-chunked") and gridfs):
            headers.pop("Content-Length", None)
            headers["Transfer-Encoding"] = "chunked"
        if not keep and not fault("close-unsaid"):
            headers["Connection"] = "close"
        lines = [f"HTTP/1.1 {response.status} {REASONS[response.status]}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")
