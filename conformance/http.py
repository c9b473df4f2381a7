"""An HTTP/1.1 client that sends any bytes, and reads strictly.

Requests are sent unchanged, however wrong they are. Responses are parsed by h11, which refuses
those that violate RFC 9112.
"""

import contextlib
import re
import select
import shlex
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import h11

from harness.system.ports import http_url

TIMEOUT = 10.0  # seconds that a response may take by default


@dataclass(frozen=True)
class Request:
    """A request as it is sent."""

    target: str = "/index"
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    version: str = "1.1"

    def encode(self, host: str) -> bytes:
        """Its bytes; ``Host`` and ``Content-Length`` are added where they are missing.

        With ``Transfer-Encoding`` the body is sent as one chunk.
        """
        names = {name.lower() for name, _ in self.headers}
        lines = [f"{self.method} {self.target} HTTP/{self.version}"]
        if "host" not in names:
            lines.append(f"Host: {host}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.body and not names & {"content-length", "transfer-encoding"}:
            lines.append(f"Content-Length: {len(self.body)}")
        body = self.body
        if "transfer-encoding" in names:
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    def curl(self, url: str) -> str:
        """A ``curl`` command that repeats it, to be pasted into a shell."""
        words = ["curl", "-i", "--path-as-is"]
        words += ["--globoff"] if set("[]{}") & set(self.target) else []
        words += ["--head"] if self.method == "HEAD" else []
        words += ["--request", self.method] if self.method not in ("GET", "HEAD") else []
        words += ["--http1.0"] if self.version == "1.0" else []
        for name, value in self.headers:
            words += ["--header", f"{name}: {value}"]
        words += ["--data-binary", self.body.decode(errors="replace")] if self.body else []
        return shlex.join([*words, url + self.target])


@dataclass(frozen=True)
class Response:
    """A response as it was received."""

    request: Request
    version: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    url: str = field(repr=False, default="")  # the server's

    def header(self, name: str) -> str | None:
        """The value of a header, its fields combined as in RFC 9110, section 5.3."""
        values = [value for key, value in self.headers if key == name.lower()]
        return ", ".join(values) if values else None

    @property
    def options(self) -> list[str]:
        """The options of ``Connection``."""
        return re.split(r"[\s,]+", (self.header("Connection") or "").lower())

    @property
    def is_last(self) -> bool:
        """Whether it says, by a header or its version, that it is the connection's last."""
        return "close" in self.options or (
            self.version == "1.0" and "keep-alive" not in self.options
        )


class NoAnswer(AssertionError):
    """A request got no response."""

    what = fate = ""

    def __init__(self, request: Request) -> None:
        self.request = request
        super().__init__(
            f"{request.method} {request.target[:300]}\nexpected  a response\ngot       {self.what}"
        )


class Closed(NoAnswer):
    """The server closed the connection."""

    what, fate = "the connection's end", "closed"


class Silence(NoAnswer):
    """The server left the connection open and sent nothing, or not all of a response."""

    what, fate = "silence until the timeout", "waits"


class Garbled(AssertionError):
    """The server sent something that is not a valid HTTP response (RFC 9112)."""

    what, fate = "framing", "garbled"

    def __init__(self, text: str, request: Request | None = None) -> None:
        self.request = request
        super().__init__(text)


# Errors of a client that gets no complete response
FAILED = (NoAnswer, Garbled, OSError)


class Connection:
    """One TCP connection to a server."""

    def __init__(self, host: str, port: int, timeout: float = TIMEOUT) -> None:
        self.url = http_url(host, port)
        self.host = self.url.removeprefix("http://")  # as in ``Host``, with the port
        self.socket = socket.create_connection((host, port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def offer(self, data: bytes) -> None:
        """Send bytes that the server may not read completely."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, TimeoutError):
            self.send(data)

    def request(self, request: Request) -> Response:
        """Send a request and read its response, which may come before the request's end."""
        self.offer(request.encode(self.host))
        return self.receive(request)

    def receive(self, request: Request | None = None) -> Response:
        """Read the next response, which answers ``request``."""
        request = request or Request()
        parser = _parser(request.method if request.method in ("GET", "HEAD") else "POST")
        if self._rest:  # h11 takes no bytes for the end of the connection
            parser.receive_data(self._rest)
        head: h11.Response | None = None
        body = bytearray()
        try:
            while True:
                match parser.next_event():
                    case h11.NEED_DATA:
                        data = self.read_some()
                        if not data and head is None and not parser.trailing_data[0]:
                            raise Closed(request)
                        parser.receive_data(data)
                    case h11.Response() as head:
                        pass
                    case h11.Data(data=part):
                        body += part
                    case h11.EndOfMessage():
                        break
                    case h11.ConnectionClosed():
                        raise Closed(request)
        except TimeoutError as error:
            raise Silence(request) from error
        except h11.RemoteProtocolError as error:
            sent = request.encode("x")[:200]
            raise Garbled(f"not a valid response to {sent!r}: {error}", request) from error
        assert head is not None
        self._rest = parser.trailing_data[0]
        return Response(
            request,
            head.http_version.decode(),
            head.status_code,
            tuple((name.decode(), value.decode("latin-1")) for name, value in head.headers),
            bytes(body),
            self.url,
        )

    def require_end(self, response: Response) -> None:
        """Fail if the server sends anything after the end of the last response.

        A body that must not be there may come late, but before the response to another request or
        the end of the connection.
        """
        if not self._rest and (response.request.method == "HEAD" or response.status == 304):
            self._rest = self._late_body(response)
        if self._rest:
            request = response.request
            raise Garbled(
                f"{request.method} {request.target}: {response.status}, and then "
                f"bytes that belong to no response: {self._rest[:100]!r}",
                request,
            )

    def _late_body(self, response: Response) -> bytes:
        try:
            if not response.is_last:
                last = Request("/index", headers=(("Connection", "close"),))
                self.send(last.encode(self.host))
            data = self.socket.recv(1 << 16)
        except OSError:
            return b""
        return b"" if data.startswith(b"HTTP/1.") else data

    def read_some(self) -> bytes:
        """The next bytes; none at the end of the connection. Raises :class:`TimeoutError`."""
        try:
            return self.socket.recv(1 << 16)
        except ConnectionResetError:
            return b""

    def read_raw(self, timeout: float) -> bytes:
        """All bytes until the server closes or is silent for ``timeout`` seconds."""
        rest, self._rest = self._rest, b""
        self.socket.settimeout(timeout)
        return rest + self.read_until(lambda _: False)[0]

    def read_until(self, enough: Callable[[bytearray], object]) -> tuple[bytes, bool]:
        """Read until it is enough; also return whether the connection ended before that.

        Reading also stops on silence, and after a minute in any case.
        """
        until = time.monotonic() + 60
        raw = bytearray()
        while not enough(raw) and time.monotonic() < until:
            try:
                piece = self.read_some()
            except TimeoutError:
                break
            if not piece:
                return bytes(raw), True
            raw += piece
        return bytes(raw), False

    def is_readable(self, within: float = 0) -> bool:
        """Whether there are bytes to read, or the end of the connection, within some seconds."""
        poll = select.poll()  # select(2) takes no socket above 1023
        poll.register(self.socket, select.POLLIN)
        return bool(self._rest or poll.poll(within * 1000))

    def is_closed_within(self, seconds: float) -> bool:
        """Whether the server closes within that time, without sending another byte."""
        return not self._rest and self.is_readable(seconds) and not self.read_some()


def statuses(raw: bytes) -> list[bytes]:
    """The status of each final response in a connection's bytes; what is none ends the list."""
    found: list[bytes] = []
    while raw:
        parser = _parser("POST")
        parser.receive_data(raw)
        try:
            while True:
                event = parser.next_event()
                if isinstance(event, h11.Response):
                    found.append(b"%d" % event.status_code)
                elif event in (h11.NEED_DATA, h11.PAUSED):
                    return found
                elif isinstance(event, h11.EndOfMessage):
                    break
        except h11.RemoteProtocolError:
            return found
        raw = parser.trailing_data[0]
    return found


def _parser(method: str) -> h11.Connection:
    """A parser of the response to a request with this method."""
    parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
    parser.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    parser.send(h11.EndOfMessage())
    return parser
