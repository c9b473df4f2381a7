"""The tools of a question, and its registration."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, get_args

import spec
from conformance.behaviours.page import CONTRACT, Page
from conformance.http import Closed, Garbled, Response, Silence
from conformance.subject import Controlled, Start, Subject
from spec.behaviours import Rating, questions

Lane = Literal["wire", "waiting", "alone", "databases", "process"]
"""Where a question is asked: in ``wire`` and ``waiting`` (for half a minute) in parallel with
others, on a shared server; in the other lanes in sequence."""
Need = Literal["get", "post", "contract"]
"""What a question needs of a server: a page, a path that takes bodies, or parts of the contract."""


@dataclass(frozen=True)
class Lab:
    """A server to ask, and the means to start another."""

    server: Subject
    start_another: Start | None = None
    """Starts another instance with other settings; None for a server that is not ours."""
    patience: float = 5.0
    """Seconds of silence that count as no answer."""
    page: Page = CONTRACT

    @property
    def controlled(self) -> Controlled:
        """The server, started by us (for questions with ``control``)."""
        assert isinstance(self.server, Controlled)
        return self.server

    def start(self, **settings: str) -> AbstractContextManager[Controlled]:
        """Start another instance of the deployment (for questions with ``control``)."""
        assert self.start_another is not None
        return self.start_another(settings)

    def ask(
        self,
        target: str,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> Response:
        """The response to a request on a connection of its own.

        Raises :class:`Closed`, :class:`Silence` (after ``patience``) or :class:`Garbled`.
        """
        return self.server.ask(target, method, headers, body, timeout=self.patience)

    def outcome(self, target: str, method: str = "GET", **headers: str) -> str:
        """The status of the response as text; or ``closed``, ``waits``, ``garbled``."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            return str(self.ask(target, method, named).status)
        except Closed:
            return "closed"
        except Silence:
            return "waits"
        except Garbled:
            return "garbled"


def worst(id: str, answers: Iterable[str]) -> str:
    """The answer that is rated worst; no more are asked for once one is risky."""
    rated = questions()[id].answers
    found = ""
    for answer in answers:
        if answer not in rated or rated[answer].rating == "risky":
            return answer
        if not found or _RATINGS.index(rated[answer].rating) > _RATINGS.index(rated[found].rating):
            found = answer
    return found


_RATINGS = get_args(Rating)

Ask = Callable[[Lab], str]
AskSeveral = Callable[[Lab], Mapping[str, str]]
"""Returns an answer for each id."""


@dataclass(frozen=True)
class Inquiry:
    """A registered question, or several that are answered together."""

    ids: tuple[str, ...]
    ask: AskSeveral
    parts: tuple[spec.Part, ...]
    """The parts of the contract that the question needs."""
    lane: Lane
    control: bool
    """Whether it needs a server that we started ourselves."""
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
        _register((id,), lambda lab: {id: ask(lab)}, parts, lane, control, needs)
        return ask

    return register


def asks_several(
    *ids: str, parts: tuple[spec.Part, ...] = (), lane: Lane
) -> Callable[[AskSeveral], AskSeveral]:
    """Register a function that asks several questions at once."""

    def register(ask: AskSeveral) -> AskSeveral:
        _register(ids, ask, parts, lane, control=True)
        return ask

    return register


def _register(
    ids: tuple[str, ...],
    ask: AskSeveral,
    parts: tuple[spec.Part, ...],
    lane: Lane,
    control: bool,
    needs: Need = "contract",
) -> None:
    control = control or lane in ("databases", "process")
    inquiry = Inquiry(ids, ask, parts, lane, control, needs)
    for id in ids:
        if id in INQUIRIES:
            raise ValueError(f"{id} is asked twice")
        INQUIRIES[id] = inquiry
