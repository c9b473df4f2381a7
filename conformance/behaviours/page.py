"""What questions ask for: the contract's ``/index``, or a page of any other server."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from socket import SHUT_RDWR
from threading import Event
from weakref import WeakSet

import spec
from conformance.hostile import CONTENT
from conformance.http import FAILED, TIMEOUT, Connection, Request, Response, statuses
from conformance.subject import Subject
from harness.errors import UsageError

UNKNOWN = "/nothing-more"  # a path that no server is supposed to have
MOST = 8  # the most connections at once
# Seconds within which a server that serves several clients at once answers one of them
_QUICK = 3.0


class Inapplicable(Exception):
    """A question does not apply to this page."""


@dataclass(frozen=True)
class Upload:
    """Where a server takes bodies, and one that it takes."""

    path: str
    content: bytes
    media_type: str | None = None


@dataclass(frozen=True)
class Page:
    """A page, how its response is recognised, and the response to an unknown path."""

    path: str
    body: bytes | None  # None if it varies
    hidden_path: str  # the path of a hidden request
    # By which the response to a hidden request is recognised; by default, by a status of 200
    hidden_body: bytes | None = None
    host: str = "x"  # the value of ``Host``
    unknown: bytes = b"404"  # the status of an unknown path
    upload: Upload | None = None

    def is_in(self, response: Response) -> bool:
        """Whether a response has the page."""
        return response.status == 200 and self.body in (None, response.body)

    @property
    def tells(self) -> bool:
        """Whether an unknown path's response can be told from the page's, and from a refusal's."""
        return self.unknown in (b"301", b"302", b"303", b"307", b"308", b"401", b"403", b"404")

    def shows_hidden(self, raw: bytes | bytearray) -> bool:
        """Whether the response to a hidden request is among a connection's bytes."""
        if self.hidden_body is not None:
            return self.hidden_body in raw
        return b"200" in statuses(bytes(raw))[1:]

    def variant(self, pattern: str, url: str) -> str:
        """Another target for the page. Raises :class:`Inapplicable` if it would be the same."""
        encoded = re.sub("(?<=/)[A-Za-z]", lambda one: f"%{ord(one[0]):x}", self.path, count=1)
        target = pattern.format(path=self.path, upper=self.path.upper(), encoded=encoded, url=url)
        if target == self.path or target.endswith("//"):
            raise Inapplicable(f"{self.path} has no such variant")
        return target


CONTRACT = Page(
    "/index",
    spec.expected("/index").body,
    "/json",
    spec.expected("/json").body,
    upload=Upload("/notes", CONTENT, "application/json"),
)


class _Readdressed(Connection):
    """A connection on which the contract's addresses are replaced by those of the server."""

    def __init__(self, stranger: "Stranger", timeout: float) -> None:
        super().__init__(stranger.host, stranger.port, timeout)
        self.stranger = stranger

    def send(self, data: bytes) -> None:
        super().send(self.stranger.readdressed(data))


@dataclass(frozen=True)
class Stranger(Subject):
    """A server that is only known by the address of a page.

    Questions are asked as of the contract's ``/index``. A POST goes to ``post`` and nowhere else.
    """

    parts: frozenset[str] = frozenset()
    path: str = "/"
    post: str | None = None
    over: Event = field(default_factory=Event, repr=False)
    _open: WeakSet[Connection] = field(default_factory=WeakSet, repr=False)

    @classmethod
    def at(cls, url: str, post: str | None = None) -> "Stranger":
        """The server at ``http://HOST[:PORT]/path``."""
        scheme, _, place = url.partition("://")
        if scheme == "https":
            raise UsageError(f"{url}: TLS is not supported: give the http:// address behind it")
        if set(url) & set("?#"):
            raise UsageError(f"{url}: give the address as http://HOST:PORT/path")
        authority, _, path = place.partition("/")
        there = Subject.at(f"{scheme}://{authority}")
        for one in (f"/{path}", post or "/"):
            if not re.fullmatch("/[!-~]*", one):
                raise UsageError(f"{one}: give a path that begins with / and is percent-encoded")
        return cls(there.host, there.port, path=f"/{path}", post=post)

    @property
    def authority(self) -> str:
        """The value of ``Host``."""
        return self.url.removeprefix("http://")

    def connect(self, timeout: float = TIMEOUT) -> Connection:
        """A new connection; none once it is over."""
        if self.over.is_set():
            raise ConnectionAbortedError("interrupted")
        connection = _Readdressed(self, timeout)
        self._open.add(connection)
        return connection

    def end(self) -> None:
        """End all connections, and with them what waits for an answer."""
        self.over.set()
        for connection in list(self._open):
            with suppress(OSError):
                connection.socket.shutdown(SHUT_RDWR)

    def readdressed(self, data: bytes) -> bytes:
        """Bytes of requests, with the server's own paths and host."""
        data = _POST.sub(rb"\g<1>" + (self.post or "").encode(), data)
        data = _INDEX.sub(rb"\g<1>" + self.path.encode(), data)
        if self.post is None and data.startswith(b"POST "):
            raise AssertionError("a POST was not allowed")
        return _HOST.sub(b"Host: " + self.authority.encode(), data)


_POST = re.compile(rb"(?m)^(POST )/index(?=[ ?\r\n])")
_INDEX = re.compile(rb"(?m)^([A-Za-z]+ )/index(?=[ ?\r\n])")
_HOST = re.compile(rb"(?m)^Host: x(?=\r?$)")


def met(stranger: Stranger, upload: Upload | None) -> Page:
    """Learn what the server's page is, and an unknown path's answer. Raises :class:`UsageError`."""
    url = stranger.url + stranger.path
    first, second = _ask(stranger, stranger.path), _ask(stranger, stranger.path)
    if first.status != 200:
        raise UsageError(f"{url} answers {first.status} to GET: give a path that answers 200")
    if upload is not None:
        answer = _ask(stranger, upload.path, upload)
        if answer.status >= 400:
            raise UsageError(
                f"{stranger.url}{upload.path} answers {answer.status} to POST: "
                "give a path and a body that it takes (--post, --body, --content-type)"
            )
    return Page(
        stranger.path,
        first.body if first.body and first.body == second.body else None,
        stranger.path,
        host=stranger.authority,
        unknown=b"%d" % _ask(stranger, UNKNOWN).status,
        upload=upload,
    )


def _ask(stranger: Stranger, path: str, upload: Upload | None = None) -> Response:
    headers = [("Host", stranger.authority), ("Connection", "close")]
    request = Request(path, headers=tuple(headers))
    if upload is not None:
        headers += [("Content-Type", upload.media_type)] if upload.media_type else []
        request = Request(path, "POST", tuple(headers), upload.content)
    try:
        return stranger.ask(request)
    except FAILED as error:
        why = str(error).replace("\n", ", ")
        url = stranger.url + path
        raise UsageError(f"{url} cannot be asked ({why}): is the server running?") from error


def at_once(server: Subject) -> int:
    """How many questions can be asked at once: one, if idle clients keep a server busy."""
    held: list[Connection] = []
    try:
        held += [server.connect(_QUICK) for _ in range(MOST)]
        held[-1].request(Request(headers=(("Connection", "close"),)))
    except FAILED:
        return 1
    finally:
        for connection in held:
            connection.socket.close()
    return MOST
