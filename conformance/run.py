"""Runs the suite on one server, in processes of its own."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import spec
from conformance.verdict import Check, Verdict
from harness.console import say
from harness.paths import ROOT
from harness.servers.catalog import Target
from harness.system.processes import ending, spawn, stop

CHECKS = ROOT / "conformance" / "contract"

# Parts that put the server through outages, and come last
_LAST = ("availability", "databases", "logs", "process")

_NOTHING_TO_RUN = 5  # pytest's exit status if no check is selected

TargetOrUrl = Target | str  # a deployment to start, or the address of a running server

# Called with the number of finished checks, the total, and the name of the last
Progress = Callable[[int, int, str], None]


def _place(part: str) -> tuple[int, str]:
    """For sorting: endpoint by endpoint, then what concerns all of them, and outages at the end."""
    order = (*spec.ENDPOINTS, "others", *_LAST)
    return order.index(part if part in order else "others"), part


class Examination:
    """The suite on one server."""

    def __init__(
        self, subject: TargetOrUrl, verdict: Verdict, log: Path, progress: Progress
    ) -> None:
        self.subject, self.verdict, self.log, self.progress = subject, verdict, log, progress
        self._where = ["--target", subject.path if isinstance(subject, Target) else subject]
        self._asking = [sys.executable, "-m", "conformance.behaviours", *self._where]
        self._total = self._done = 0  # checks and questions
        self._lock = Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.has_ended = self._told = False  # whether it was stopped early

    def run(self, options: Sequence[str] = (), *, behaviours: bool = True) -> None:
        """Run every check; beside that, on servers of their own, ask every question."""
        commands = {"checks": self._checks(options)}
        if behaviours:
            commands["behaviours"] = self._asking
        with ThreadPoolExecutor(len(commands)) as pool:
            list(pool.map(self._run, commands.keys(), commands.values()))
        if (missing := self._total - self._done) and not (self.has_ended or self.verdict.error):
            self.verdict.error = f"{missing} of {self._total} checks and questions have no outcome"
        self.verdict.checks.sort(key=lambda check: _place(check.part))

    def ask_again(self, questions: Sequence[str]) -> None:
        """Ask these questions again, with nothing else running; the last answer counts."""
        for id in questions:
            self.verdict.behaviours.pop(id, None)
            self.verdict.unanswered.pop(id, None)
        self._run("behaviours-again", [*self._asking, "--only", ",".join(questions)])

    def end(self) -> None:
        """Stop it; the results so far stay in the verdict."""
        with self._lock:
            self.has_ended = True
            processes = list(self._processes)
            if not self.verdict.finished:
                self.verdict.error = "interrupted before its end"
        for process in processes:
            process.terminate()
        for process in processes:
            stop(process)

    def _checks(self, options: Sequence[str]) -> list[str]:
        parts = [path.stem.removeprefix("test_") for path in CHECKS.glob("test_*.py")]
        files = [str(CHECKS / f"test_{part}.py") for part in sorted(parts, key=_place)]
        return [
            *(sys.executable, "-m", "pytest", *files, *self._where, "--capture=no"),
            *("--assert", "plain", "-p", "no:terminal", "-p", "no:cacheprovider"),
            *("-p", "pytest_timeout", "--timeout", "300"),
            *options,
        ]

    def _run(self, name: str, command: list[str]) -> None:
        log = self.log.with_suffix(f".{name}.log")
        env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # each takes its time to import
        with log.open("w") as output, self._lock:
            if self.has_ended:
                return
            process = spawn(command, cwd=ROOT, env=env, output=subprocess.PIPE, errors=output)
            self._processes.append(process)
        try:
            self._follow(process)
            status = process.wait()
        finally:
            stop(process)
        with self._lock:
            verdict = self.verdict
            explained = self.has_ended or verdict.error or (status == 1 and verdict.failures)
            if status not in (0, _NOTHING_TO_RUN) and not explained:
                last = log.read_text(errors="replace").strip().splitlines()[-12:]
                verdict.error = "\n".join([f"the suite's {name}: {ending(status)}", *last])

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            with self._lock:
                self._take(event)

    def _take(self, event: dict[str, object]) -> None:
        verdict = self.verdict
        match event:
            case {"event": "left_out", "parts": list(parts)}:
                verdict.left_out = dict(Counter(parts))
            case {"event": "asking", "count": int(count)}:
                self._total += count
            case {"event": "fingerprint", "value": str(value)}:
                verdict.fingerprint = value
            case {"event": "waiting", "message": str(message)}:
                if not self._told:
                    say(message)
                self._told = True
            case {"event": "error" | "unstarted" as kind, "message": str(message)}:
                verdict.error = message
                if kind == "unstarted":
                    verdict.unstarted = True
                    for process in self._processes:  # the others wait for it as well
                        process.terminate()
            case {"event": "check", "name": str(name), "phase": phase}:
                found = {field: event[field] for field in Check.__dataclass_fields__}
                verdict.checks.append(Check(**found))  # type: ignore[arg-type]
                self._advance(name, by=phase != "teardown")
            case {"event": "behaviour", "id": str(id), "answer": str(answer)}:
                verdict.behaviours[id] = answer
                self._advance(id)
            case {"event": "behaviour", "id": str(id), "error": str(error)}:
                verdict.unanswered[id] = error
                self._advance(id)

    def _advance(self, last: str, by: int = 1) -> None:
        self._done += by
        self.progress(self._done, self._total, last)
