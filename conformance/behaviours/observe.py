"""Asks the questions: in parallel where they do not affect each other."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Semaphore

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
from conformance.behaviours.lab import INQUIRIES, Inquiry, Lab, Lane
from conformance.subject import Start
from harness.processes import wait_until
from harness.server import answers
from spec.behaviours import questions

__all__ = ["INQUIRIES", "Observation", "observe"]

GROUPS = (routing, parameters, files, gridfs, connection, refusals, smuggling, databases, process)
"""Importing a group registers its questions."""

_INSTANCES: dict[Lane, int] = {"wire": 1, "alone": 1, "databases": 3, "process": 1}
"""Servers of each lane."""
_TOGETHER: dict[Lane, int] = {"wire": 8, "alone": 1, "databases": 1, "process": 2}
"""Questions asked at once on each server. If a deployment serves one client at a time, ``wire`` has
half as many servers, and asks one question at a time. Those of ``process`` start their own."""
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

    ``where`` is a running server, which is not asked questions that need control; or how to start
    one, whether it serves several clients at once, and the patience (:class:`Lab`).
    """
    lanes: dict[Lane, SimpleQueue[Inquiry]] = {}
    for inquiry in dict.fromkeys(inquiries):
        if not (inquiry.control and isinstance(where, Lab)):
            lanes.setdefault(inquiry.lane, SimpleQueue()).put(inquiry)
    with ThreadPoolExecutor(sum(_TOGETHER.values())) as pool:
        running = []
        for lane, queue in lanes.items():
            if isinstance(where, Lab):
                running.append(pool.submit(_work, where, queue, report, 1))
                continue
            another, concurrent, patience = where
            instances, together = _INSTANCES[lane], _TOGETHER[lane]
            if lane == "wire" and not concurrent:
                instances, together = together // 2, 1
            for _ in range(min(instances, queue.qsize())):
                running.append(pool.submit(_work_on, another, patience, queue, report, together))
        for one in running:
            one.result()


def _work_on(
    another: Start, patience: float, queue: SimpleQueue[Inquiry], report: Report, together: int
) -> None:
    """Start a server and ask it."""
    with ExitStack() as held:
        with _starting:
            server = held.enter_context(another({}))
        _work(Lab(server, another, patience), queue, report, together)


def _work(lab: Lab, queue: SimpleQueue[Inquiry], report: Report, together: int) -> None:
    def work() -> None:
        while True:
            try:
                inquiry = queue.get_nowait()
            except Empty:
                return
            for seen in ask(lab, inquiry):
                report(seen)

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
    if inquiry.lane != "wire":
        _settle(lab)
    return seen


def _listed(id: str, answer: str) -> Observation:
    if answer in questions()[id].answers:
        return Observation(id, answer)
    return Observation(id, None, f"{answer!r} is not among the question's answers")


def _settle(lab: Lab) -> None:
    if not wait_until(lambda: answers(lab.server.host, lab.server.port), timeout=_RECOVERY):
        time.sleep(0.5)
