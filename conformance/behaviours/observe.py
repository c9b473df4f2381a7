"""Asks the questions: many at once where they leave each other alone."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from conformance.behaviours import (
    connection,
    databases,
    files,
    gridfs,
    parameters,
    process,
    refusals,
    routing,
    smuggling,
)
from conformance.behaviours.lab import INQUIRIES, Inquiry, Lab, Lane, Start
from harness.processes import wait_until
from harness.server import answers
from spec.behaviours import questions

__all__ = ["INQUIRIES", "Observation", "observe"]

GROUPS = (routing, parameters, files, gridfs, connection, refusals, smuggling, databases, process)
"""Importing a group registers its questions."""

_TOGETHER = 8
"""Questions asked at once of a server that serves several clients at once."""
_INSTANCES = 4
"""Instances of a server that serves one client at a time, each asked one question at a time."""
_RECOVERY = 15.0
"""Seconds that a server has to answer again after a question."""


@dataclass(frozen=True)
class Observation:
    """What came of a question: an answer that it lists, or why there is none."""

    id: str
    answer: str | None
    error: str = ""


Report = Callable[[Observation], None]


def observe(
    where: Lab | tuple[Start, bool, float], asked: Iterable[Inquiry], report: Report
) -> None:
    """Ask a server all that is ``asked`` and report each answer as it comes.

    ``where`` is a server that is there, or how to start one, whether it serves several clients at
    once, and the patience (:class:`Lab`). A server that is there is not asked what needs control.
    """
    lanes: dict[Lane, SimpleQueue[Inquiry]] = {}
    for inquiry in asked:
        if not (inquiry.control and isinstance(where, Lab)):
            lanes.setdefault(inquiry.lane, SimpleQueue()).put(inquiry)
    with ExitStack() as held:
        workers: list[tuple[Lab, SimpleQueue[Inquiry]]] = []
        for lane, queue in lanes.items():
            if isinstance(where, Lab):
                workers += [(where, queue)]
                continue
            another, concurrent, patience = where
            wire = lane == "wire"
            for _ in range(1 if concurrent or not wire else min(_INSTANCES, queue.qsize())):
                server = held.enter_context(another({}))
                lab = Lab(server, another, patience)
                workers += [(lab, queue)] * (_TOGETHER if concurrent and wire else 1)
        with ThreadPoolExecutor(max(len(workers), 1)) as pool:
            for done in [pool.submit(_work, lab, queue, report) for lab, queue in workers]:
                done.result()


def _work(lab: Lab, queue: SimpleQueue[Inquiry], report: Report) -> None:
    while True:
        try:
            inquiry = queue.get_nowait()
        except Empty:
            return
        report(ask(lab, inquiry))


def ask(lab: Lab, inquiry: Inquiry) -> Observation:
    """Ask one question and wait until the server answers others again."""
    listed = questions()[inquiry.id].answers
    try:
        answer = inquiry.ask(lab)
    except Exception as error:
        seen = Observation(inquiry.id, None, f"{type(error).__name__}: {error}")
    else:
        unlisted = "" if answer in listed else f"{answer!r} is not among the question's answers"
        seen = Observation(inquiry.id, answer if answer in listed else None, unlisted)
    if inquiry.lane != "wire":
        _settle(lab)
    return seen


def _settle(lab: Lab) -> None:
    if not wait_until(lambda: answers(lab.server.host, lab.server.port), timeout=_RECOVERY):
        time.sleep(0.5)
