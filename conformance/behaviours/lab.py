"""The tools of a question, and its registration."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import spec
from conformance.behaviours.page import CONTRACT, Page
from conformance.http import Closed, Connection, Garbled, NoAnswer, Request, Response
from conformance.subject import Controlled, Subject
from spec.behaviours import RATINGS, questions

# Where a question is asked: in ``wire`` and ``waiting`` (for half a minute) in parallel with
# others, on a shared server; in ``alone`` in sequence, on another; in ``process`` on servers
# of their own
Lane = Literal["wire", "waiting", "alone", "process"]

# What a question needs of a server: a page, a path that takes bodies, or parts of the contract
Need = Literal["get", "post", "contract"]

Ask = Callable[["Lab"], str]

HEAD = "GET /index HTTP/1.1\r\nHost: x\r\n"  # the begin of a request
INDEX = Request("/index")
LAST = Request("/index", headers=(("Connection", "close"),))
JSON = Request("/json")
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")  # a status line

# The answer of a server without keep-alive to questions about more than one request
CLOSES = "closes after each response"


@dataclass(frozen=True, eq=False)
class Lab:
    """A server to ask."""

    server: Subject
    patience: float = 5.0  # seconds of silence that count as no answer
    page: Page = CONTRACT

    @property
    def controlled(self) -> Controlled:
        """The server, started by us (for questions with ``control``)."""
        assert isinstance(self.server, Controlled)
        return self.server

    def connect(self) -> Connection:
        """A connection on which silence for more than the patience counts as no answer.

        Many servers close an idle connection after 5 s, some after 10: this is well apart from
        both.
        """
        return self.server.connect(self.patience * 1.5)

    def keeps_alive(self) -> bool:
        """Whether a connection carries a second request, if both are correct."""
        with self.connect() as connection:
            if connection.request(INDEX).is_last:
                return False
            try:
                connection.request(INDEX)
            except Closed:
                return False
        return True

    def ask(
        self, target: str, method: str = "GET", body: bytes = b"", /, **headers: str
    ) -> Response:
        """The response to a request on a connection of its own; ``If_Match`` is ``If-Match``.

        Raises :class:`NoAnswer` (after ``patience``) or :class:`Garbled`.
        """
        named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return self.server.ask(Request(target, method, named, body), timeout=self.patience)

    def outcome(self, target: str, **headers: str) -> str:
        """The status of the response as text; or ``closed``, ``waits``, ``garbled``."""
        try:
            return str(self.ask(target, **headers).status)
        except (NoAnswer, Garbled) as error:
            return error.fate


def fate(outcome: str) -> str:
    """The fate of a request in a word, from the result of :meth:`Lab.outcome`."""
    if outcome == "404":
        return "not found"
    named = {"2": "served", "3": "redirected", "4": "refused", "5": "failed"}
    return named.get(outcome[0], outcome)


def worst(id: str, answers: Iterable[str]) -> str:
    """The answer that is rated worst; no more are asked for once one is risky."""
    rated = questions()[id].answers
    found: list[str] = []
    for answer in answers:
        if answer not in rated or rated[answer].rating == "risky":
            return answer
        found.append(answer)
    return max(found, key=lambda answer: RATINGS.index(rated[answer].rating))


@dataclass(frozen=True)
class Inquiry:
    """A registered question."""

    id: str
    ask: Ask
    parts: tuple[spec.Part, ...]  # of the contract, which it needs
    lane: Lane
    control: bool  # whether it needs a server that we started ourselves
    needs: Need


INQUIRIES: dict[str, Inquiry] = {}


def asks(
    id: str,
    *parts: spec.Part,
    lane: Lane = "wire",
    control: bool = False,
    needs: Need = "contract",
) -> Callable[[Ask], Ask]:
    """Register a function that asks the question ``id`` of ``behaviours.toml``."""

    def register(ask: Ask) -> Ask:
        if id in INQUIRIES:
            raise ValueError(f"{id} is asked twice")
        controlled = control or lane in ("alone", "process")
        INQUIRIES[id] = Inquiry(id, ask, parts, lane, controlled, needs)
        return ask

    return register
