"""Asks the questions: in parallel where they do not affect each other."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Semaphore

from conformance.behaviours import (
    bodies,
    clients,
    connection,
    databases,
    files,
    gridfs,
    parameters,
    process,
    refusals,
    routing,
    smuggling,
    upstream,
)
from conformance.behaviours.lab import INQUIRIES, Inquiry, Lab, Lane
from conformance.subject import Start, served_parts
from harness.ports import answers
from harness.processes import wait_until
from spec.behaviours import questions

__all__ = ["INQUIRIES", "Observation", "observe"]

GROUPS = (
    *(routing, parameters, files, gridfs, connection, clients, bodies, refusals, smuggling),
    *(upstream, databases, process),
)
"""Importing a group registers its questions."""

_SERVERS: tuple[tuple[tuple[Lane, ...], ...], ...] = (
    (("wire", "process"),),
    (("alone",), ("databases",)),
    (("databases",),),
    (("waiting",),),
)
"""For each server, the lanes that share it: at the same time, or one group after the other.
Questions of ``process`` start their own, and use the shared one only as a template."""
_TOGETHER: dict[Lane, int] = {
    **{"wire": 8, "waiting": 4},
    **{"alone": 1, "databases": 1, "process": 2},
}
"""Questions asked at once on each server. A deployment that serves one client at a time gets half
as many servers for ``wire`` and ``waiting`` instead, and is asked one question at a time."""
_RECOVERY = 15.0
"""Seconds that a server has to recover after a question."""


@dataclass(frozen=True)
class Observation:
    """The result of a question: one of its listed answers, or why there is none."""

    id: str
    answer: str | None
    error: str = ""


_starting = Semaphore(2)
"""Limits the servers that start at once: a JVM takes both cores."""

Report = Callable[[Observation], None]


def observe(
    where: Lab | tuple[Start, bool, float], inquiries: Iterable[Inquiry], report: Report
) -> None:
    """Ask questions and report each answer as it comes.

    ``where`` is a running server, which may serve one client at a time and is not asked questions
    that need control; or how to start one, whether it serves several clients at once, and the
    patience (:class:`Lab`).
    """
    lanes: dict[Lane, _Queue] = {}
    for inquiry in dict.fromkeys(inquiries):
        if not (inquiry.control and isinstance(where, Lab)):
            lanes.setdefault(inquiry.lane, SimpleQueue()).put(inquiry)
    if isinstance(where, Lab):
        for lane in sorted(lanes, key=lambda lane: lane == "waiting"):
            _work(where, lanes[lane], report)
        return
    another, concurrent, patience = where
    with ThreadPoolExecutor(sum(_TOGETHER.values())) as pool:
        running = [
            pool.submit(_work_on, another, patience, work, report)
            for work in _shared(lanes, concurrent)
        ]
        for one in running:
            one.result()


_Queue = SimpleQueue[Inquiry]
_Work = list[list[tuple[_Queue, int]]]
"""The questions for a server, group after group, and how many of each queue are asked at once."""


def _shared(lanes: Mapping[Lane, _Queue], concurrent: bool) -> Iterator[_Work]:
    """The work of each server; a lane has no more servers than questions."""
    together = _TOGETHER | ({} if concurrent else {"wire": 1, "waiting": 1})
    servers: Counter[Lane] = Counter()
    for groups in _SERVERS:
        work = [
            [
                (lanes[lane], together[lane])
                for lane in group
                if lane in lanes and lanes[lane].qsize() > servers[lane]
            ]
            for group in groups
        ]
        servers.update(lane for group in groups for lane in group)
        if any(work):
            yield work
    for lane in ("wire", "waiting"):
        if not concurrent and lane in lanes:
            more = _TOGETHER[lane] // 2 - 1
            yield from [[[(lanes[lane], 1)]]] * min(more, lanes[lane].qsize() - 1)


def _work_on(another: Start, patience: float, work: _Work, report: Report) -> None:
    """Start a server and ask it."""
    with ExitStack() as held:
        with _starting:
            server = held.enter_context(another({}))
        lab = Lab(replace(server, parts=served_parts(server)), another, patience)
        for group in filter(None, work):
            with ThreadPoolExecutor(len(group)) as pool:
                for done in [pool.submit(_work, lab, queue, report, many) for queue, many in group]:
                    done.result()


def _work(lab: Lab, queue: _Queue, report: Report, together: int = 1) -> None:
    def work() -> None:
        while True:
            try:
                inquiry = queue.get_nowait()
            except Empty:
                return
            if unserved := set(inquiry.parts) - lab.server.parts:
                why = f"not asked: no 200 for the example of {', '.join(sorted(unserved))}"
                seen = [Observation(id, None, why) for id in inquiry.ids]
            else:
                seen = ask(lab, inquiry)
            for one in seen:
                report(one)

    with ThreadPoolExecutor(together) as pool:
        for done in [pool.submit(work) for _ in range(together)]:
            done.result()


def ask(lab: Lab, inquiry: Inquiry) -> list[Observation]:
    """Ask, and wait until the server has recovered."""
    try:
        answers = inquiry.ask(lab)
    except Exception as error:
        seen = [Observation(id, None, f"{type(error).__name__}: {error}") for id in inquiry.ids]
    else:
        seen = [_listed(id, answers[id]) for id in inquiry.ids]
    if inquiry.lane in ("alone", "databases"):
        _settle(lab)
    return seen


def _listed(id: str, answer: str) -> Observation:
    if answer in questions()[id].answers:
        return Observation(id, answer)
    return Observation(id, None, f"{answer!r} is not among the question's answers")


def _settle(lab: Lab) -> None:
    if not wait_until(lambda: answers(lab.server.host, lab.server.port), timeout=_RECOVERY):
        time.sleep(0.5)
