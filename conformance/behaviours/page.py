"""What questions ask for: the contract's ``/index``, or a page of any other server."""

import re
from dataclasses import dataclass

import spec
from conformance.hostile import CONTENT
from conformance.http import Response, statuses


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

    def shows_hidden(self, raw: bytes) -> bool:
        """Whether the response to a hidden request is among a connection's bytes."""
        if self.hidden_body is not None:
            return self.hidden_body in raw
        return b"200" in statuses(raw)[1:]

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
    upload=Upload("/notes", CONTENT),
)
