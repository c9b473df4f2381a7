"""Every question distinguishes its answers, on a server that can be switched to each of them."""

import re
import resource
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from conformance.behaviours.lab import Inquiry, Lab
from conformance.behaviours.observe import INQUIRIES, ask, observe_running
from conformance.matrix.rows import rows
from conformance.prove import AGAIN
from conformance.subject import Subject, start
from harness.paths import ROOT
from harness.servers.catalog import find_target, find_targets
from harness.services import Services, backing_services
from spec.behaviours import questions

pytestmark = pytest.mark.timeout(1800)

WRONG = ROOT / "tests" / "servers" / "wrong"
PATIENCE = 2.5  # seconds of silence that count as no answer; the wrong server is fast
# How long the suite waits for it, instead of for any server
SECONDS = {
    "instance.START": 20.0,
    "behaviours.process.SETTLED": 20.0,
    "behaviours.clients.SOON": 2.0,
    "behaviours.clients.WAIT": 5.0,
    "behaviours.clients._LONGEST": 9.0,
}
_TOGETHER = 12  # wrong servers that are switched and asked at once
_ALONE = 2  # of these, the servers for questions that the suite asks alone, as those about memory

Switch = tuple[str, str]  # a question's id and the answer that the server is switched to


def ask_all(backing: Services, folder: Path, queue: "SimpleQueue[Switch]") -> dict[Switch, str]:
    """The observed answer for each switch in the queue; restarts a server that stops."""
    folder.mkdir(exist_ok=True)
    target, switch, seen = find_target(f"{WRONG}/wrong"), folder / "fault", dict[Switch, str]()
    switch.write_text("")
    while True:
        with start(target, backing, folder, {"FAULT_FILE": str(switch)}) as server:
            while server.pids():
                try:
                    id, answer = queue.get_nowait()
                except Empty:
                    return seen
                switch.write_text(f"{id}={answer}")
                observed = ask(Lab(server, PATIENCE), INQUIRIES[id])
                switch.write_text("")
                seen[id, answer] = observed.answer or observed.error


def unexpected(seen: dict[Switch, str]) -> dict[Switch, str]:
    """The answers that differ from their switch."""
    return {(id, answer): got for (id, answer), got in seen.items() if got != answer}


def test_every_answer_is_distinguished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions about processes, which take longest, are the last in the list and asked first."""
    alone: SimpleQueue[Switch] = SimpleQueue()
    others: SimpleQueue[Switch] = SimpleQueue()
    for id, question in reversed(questions().items()):
        busy = INQUIRIES[id].lane == "alone" and question.group != "databases"  # which wait
        queue = alone if busy else others
        for answer in question.answers:
            queue.put((id, answer))
    for name, seconds in SECONDS.items():
        monkeypatch.setattr(f"conformance.{name}", seconds)
    with backing_services() as backing, ThreadPoolExecutor(_TOGETHER) as pool:
        queues = [alone] * _ALONE + [others] * (_TOGETHER - _ALONE)
        folders = [tmp_path / str(number) for number in range(_TOGETHER)]
        found = pool.map(partial(ask_all, backing), folders, queues)
        seen = {switch: answer for each in found for switch, answer in each.items()}
        for _ in range(AGAIN):  # as the suite does, with nothing else running
            again: SimpleQueue[Switch] = SimpleQueue()
            for switch in unexpected(seen):
                again.put(switch)
            if not again.empty():
                seen |= ask_all(backing, folders[0], again)
    assert unexpected(seen) == {}


@pytest.mark.quick
def test_every_question_tells_somebody_something() -> None:
    """One that all recorded deployments answer alike, and without risk, has to go."""
    found = rows(find_targets(["all"]))
    assert [row.question.id for row in found if not row.differs and row.worst != "risky"] == []


def test_a_foreign_server_is_asked_waiting_questions_last() -> None:
    asked: list[str] = []

    def inquiry(id: str, seconds: float) -> Inquiry:
        def answers(_: Lab) -> str:
            time.sleep(seconds)
            asked.append(id)
            return ""

        return replace(INQUIRIES[id], ask=answers)

    inquiries = [inquiry("idle-connection", 0), inquiry("date", 0.2)]
    observe_running(Lab(Subject("127.0.0.1", 1)), inquiries, lambda _: None)
    assert asked == ["date", "idle-connection"]


def test_every_question_is_asked_has_a_source_and_rates_its_answers() -> None:
    """And the wrong server has no switch of a question that is gone."""
    texts = "".join(file.read_text() for file in WRONG.glob("*.py"))
    assert set(re.findall(r'switched\("([a-z0-9-]+)"\)', texts)) <= questions().keys()
    assert INQUIRIES.keys() == questions().keys()
    assert len(questions()) <= 160
    for question in questions().values():
        assert question.text.endswith((".", "?")), question.id
        assert question.source, question.id
        assert len(question.answers) > 1, question.id
        assert not any("=" in answer or not one.why for answer, one in question.answers.items())


@pytest.mark.quick
def test_too_few_files_for_the_suite_say_nothing_of_a_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("conformance.behaviours.observe._RECOVERY", 0.0)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        lab = Lab(Subject(*silent.getsockname()))
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))  # fewer than connections may wait
        try:
            seen = ask(lab, INQUIRIES["1000-connections"])
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "Too many open files" in seen.error


def test_an_error_of_a_question_is_cut() -> None:
    """A database's has whole documents."""

    def fails(_: Lab) -> str:
        raise OSError("No space left on device" + "\0" * 10_000)

    seen = ask(Lab(Subject("127.0.0.1", 1)), replace(INQUIRIES["date"], ask=fails))
    assert seen.error.startswith("OSError: No space left on device")
    assert len(seen.error) < 1_000
