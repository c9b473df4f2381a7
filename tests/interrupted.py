"""Interrupts tasks, and checks that they leave nothing behind."""

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from conformance.subject import is_alive
from harness.paths import ROOT, RUN
from harness.system.locks import is_locked
from harness.system.processes import wait_until

GONE = 60.0  # Seconds within which everything must be gone; 5 on an idle machine
# Shells ignore SIGINT in what they start in the background, which may be these tests
_UNIGNORED = ("/usr/bin/env", "--default-signal=INT")
_MARK = "TMPDIR"  # The environment variable that all processes of a task inherit, servers too


class Task:
    """A running task, and all the processes that it has had so far."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log
        self.root = psutil.Process(process.pid)
        self.seen: set[psutil.Process] = {self.root}
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while self.process.poll() is None:
            self.look()
            time.sleep(0.05)

    def look(self) -> list[psutil.Process]:
        """The processes that it has now."""
        found = []
        with suppress(psutil.Error):
            found = [self.root, *self.root.children(recursive=True)]
        self.seen.update(found)
        return found

    @property
    def output(self) -> str:
        """What it has written so far."""
        return self.log.read_text(errors="replace")

    def wait_for(self, condition: Callable[["Task"], bool]) -> None:
        """Wait until the condition holds; fail if the task ends before."""
        done = wait_until(lambda: condition(self) or self.process.poll() is not None, timeout=180)
        assert done, self.output
        assert self.process.poll() is None, self.output

    def signal(self, number: signal.Signals) -> None:
        """Interrupt it: SIGTERM as a supervisor does, any other as a terminal does."""
        if number == signal.SIGTERM:
            self.process.send_signal(number)
        else:
            os.killpg(self.process.pid, number)

    def left(self) -> list[str]:
        """Those of its processes that are there, also some that it has disowned."""
        marked = {one for one in psutil.process_iter() if _mark_of(one) == str(self.log.parent)}
        return [words_of(one) for one in self.seen | marked if is_alive(one)]

    def require_gone(self) -> None:
        """Fail unless all its processes have ended, no file is torn, and no build is locked."""
        self.process.wait(GONE)
        wait_until(lambda: not self.left(), timeout=GONE)
        assert not (left := self.left()), f"{left}\n{self.output}"
        for folder in (RUN / "verdicts", ROOT / "results"):
            for path in folder.glob("*.json"):
                json.loads(path.read_text())
        assert not any(map(is_locked, (RUN / "locks").glob("build-interrupted*")))


@contextmanager
def task(
    *words: str, log: Path, env: Mapping[str, str] | None = None, program: Path = ROOT / "just"
) -> Iterator[Task]:
    """Start a task as a terminal does; it is killed at the end of the block."""
    with log.open("w") as output:
        process = subprocess.Popen(
            [*_UNIGNORED, str(program), *words],
            env={**os.environ, **(env or {}), _MARK: str(log.parent)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    running = Task(process, log)
    try:
        yield running
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for id in set(re.findall(r"\btext-\d{8}-\d{6}-\w{4}\b", running.output)):
            (ROOT / "results" / f"{id}.json").unlink(missing_ok=True)  # of `just bench`


def _mark_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(_MARK)
    except psutil.Error:
        return None


def words_of(process: psutil.Process) -> str:
    """The command line of a process, or what is known of one that has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return str(process)
