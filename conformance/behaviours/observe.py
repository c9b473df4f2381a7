"""Asks the questions: in parallel where they do not affect each other."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Semaphore

from conformance.behaviours import (  # noqa: F401 - a group's module registers its questions
    bodies,
    clients,
    connection,
    databases,
    files,
    memory,
    process,
    requests,
    routing,
)
from conformance.behaviours.lab import INQUIRIES, Inquiry, Lab, Lane
from conformance.behaviours.page import Inapplicable, at_once
from conformance.subject import Controlled, served_parts
from harness.system.ports import answers
from harness.system.processes import wait_until
from spec.behaviours import questions

__all__ = ["INQUIRIES", "Observation", "observe", "observe_running"]

# For each server, the lanes that share it; the one that takes longest starts first. Questions of
# ``process`` start their own, and use the shared one only as a template. On a deployment that
# serves one client at a time, those that wait would keep it from the others.
_SERVERS: tuple[tuple[Lane, ...], ...] = (("waiting", "wire", "process"), ("alone",))
_ONE_CLIENT: tuple[tuple[Lane, ...], ...] = (("waiting",), ("wire", "process"), ("alone",))

# Questions asked at once on each server. A deployment that serves one client at a time gets half as
# many servers for ``wire`` and ``waiting`` instead, and is asked one question at a time.
_TOGETHER: dict[Lane, int] = {"wire": 8, "waiting": 6, "alone": 1, "process": 2}

_RECOVERY = 15.0  # seconds that a server has to recover after a question
_LONGEST_ERROR = 600  # characters: a database's errors have whole documents
_LONGEST = 600.0  # seconds after which a server that is not ours is asked no more

_starting = Semaphore(2)  # servers that start at once: a JVM takes both cores


@dataclass(frozen=True)
class Observation:
    """The result of a question: one of its listed answers, or why there is none."""

    id: str
    answer: str | None
    error: str = ""
    applies: bool = True  # False if it cannot be asked of this page


Start = Callable[[], AbstractContextManager[Controlled]]
Report = Callable[[Observation], None]

_Queue = SimpleQueue[Inquiry]


def observe_running(lab: Lab, inquiries: Iterable[Inquiry], report: Report) -> None:
    """Ask a server that is not ours, which may serve one client at a time.

    Raises :class:`TimeoutError` if it takes too long.
    """
    pool = ThreadPoolExecutor(together := at_once(lab.server))
    # Those that wait begin first, beside the others; on a server of one client at a time, last.
    first = sorted(inquiries, key=lambda one: (one.lane == "waiting") != (together > 1))
    asked = [pool.submit(ask, lab, inquiry) for inquiry in first]
    try:
        for one in as_completed(asked, timeout=_LONGEST):
            report(one.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def observe(start: Start, concurrent: bool, inquiries: Iterable[Inquiry], report: Report) -> None:
    """Start servers, ask them, and report each answer as it comes.

    ``concurrent`` is whether a server serves several clients at once.
    """
    lanes: dict[Lane, _Queue] = {}
    # Those about databases come first, on a server that no crowd of clients has used yet.
    for inquiry in sorted(inquiries, key=lambda one: questions()[one.id].group != "databases"):
        lanes.setdefault(inquiry.lane, SimpleQueue()).put(inquiry)
    with ThreadPoolExecutor(sum(_TOGETHER.values())) as pool:
        list(pool.map(lambda queues: _work_on(start, queues, report), _shared(lanes, concurrent)))


def _shared(lanes: Mapping[Lane, _Queue], concurrent: bool) -> Iterator[list[_Queue]]:
    """The queues of each server, one for every thread; a lane has at most a server a question."""
    together = _TOGETHER | ({} if concurrent else {"wire": 1, "waiting": 1})
    for group in _SERVERS if concurrent else _ONE_CLIENT:
        if found := [lanes[lane] for lane in group if lane in lanes for _ in range(together[lane])]:
            yield found
    for lane in ("wire", "waiting"):
        if not concurrent and lane in lanes:
            more = _TOGETHER[lane] // 2 - 1
            yield from [[lanes[lane]]] * min(more, lanes[lane].qsize() - 1)


def _work_on(start: Start, queues: list[_Queue], report: Report) -> None:
    """Start a server and ask it."""
    with ExitStack() as held:
        with _starting:
            server = held.enter_context(start())
        lab = Lab(replace(server, parts=served_parts(server)))
        with ThreadPoolExecutor(len(queues)) as pool:
            list(pool.map(lambda queue: _ask_all(lab, queue, report), queues))


def _ask_all(lab: Lab, queue: _Queue, report: Report) -> None:
    while True:
        try:
            inquiry = queue.get_nowait()
        except Empty:
            return
        if unserved := set(inquiry.parts) - lab.server.parts:
            why = f"not asked: no 200 for the example of {', '.join(sorted(unserved))}"
            report(Observation(inquiry.id, None, why))
        else:
            report(ask(lab, inquiry))


def ask(lab: Lab, inquiry: Inquiry) -> Observation:
    """Ask, and wait until the server has recovered."""
    id = inquiry.id
    try:
        answer = inquiry.ask(lab)
    except Exception as error:
        applies = not isinstance(error, Inapplicable)
        kind = f"{type(error).__name__}: " * applies
        seen = Observation(id, None, f"{kind}{error}"[:_LONGEST_ERROR], applies)
    else:
        unlisted = f"{answer!r} is not among the question's answers"
        listed = answer in questions()[id].answers
        seen = Observation(id, answer) if listed else Observation(id, None, unlisted)
    if inquiry.lane == "alone":
        wait_until(lambda: answers(lab.server.host, lab.server.port), timeout=_RECOVERY)
    return seen
