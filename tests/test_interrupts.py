"""Tasks that get a signal, and tasks one of whose processes is killed."""

import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import psutil
import pytest

from harness.paths import ROOT, RUN
from harness.system.ports import free_port
from harness.system.processes import wait_until
from harness.system.programs import find_program
from tests.attempts import attempts
from tests.interrupted import GONE, Task, task, words_of
from tests.manifests import write_server
from tests.programs import execute

# The services are not restarted for each task, as these tests keep them running
pytestmark = [pytest.mark.alone, pytest.mark.timeout(600), pytest.mark.usefixtures("backing")]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Takes long to build
SLOW = """
[build]
run = [["sh", "-c", "sleep 300 & sleep 300"]]
inputs = ["server.toml"]
output = "made"
"""

# Ends when it is killed
STUBBORN = "trap 'touch asked' TERM; touch ready; while :; do sleep 0.1; done"


# Sends a second signal at each line of the handler of the first
REENTERED = """
import os, signal, sys, time
from harness.task import reports_errors

def again_at_line(number):
    def trace(frame, event, _):
        nonlocal number
        number -= event == "line"
        if event == "line" and number == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        return trace
    sys.settrace(trace)

@reports_errors
def main(line):
    try:
        again_at_line(line)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    finally:
        sys.settrace(None)
        print("torn down", flush=True)

for line in range(1, 16):
    if not (child := os.fork()):
        signal.alarm(5)
        main(line)
    print(line, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

ENDLESS = """
import os, signal, time
from harness import task

@task.reports_errors
def main():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    finally:
        time.sleep(60)

task._TEARDOWN = 1
main()
"""


@dataclass(frozen=True)
class Kind:
    """A kind of task, what it has written or runs once it is busy, and its final message."""

    words: tuple[str, ...]
    busy: str
    message: str = ""

    def is_busy(self, running: Task) -> bool:
        texts = (running.output, *map(words_of, running.look()))
        return any(self.busy in text for text in texts)


KINDS = {
    "serve": Kind(("serve", "tornado"), "Ctrl-C stops it", "stopping tornado/tornado"),
    "services": Kind(("services",), "Ctrl-C"),
    "conform": Kind(
        ("conform", "express/express", "aiohttp/aiohttp"),
        "-m app.main",
        "interrupted: these are the results so far",
    ),
    "bench": Kind(
        ("bench", "text", "--quick", "--repeats", "40", "nginx"), "h2load --h1", "kept in"
    ),
    "build": Kind(("serve", "{slow}"), "sleep 300", "building interrupted"),
}


@contextmanager
def begun(name: str, folder: Path) -> Iterator[Task]:
    """A task that is busy."""
    kind = KINDS[name]
    slow = write_server(folder / "interrupted", "true", more=SLOW)
    words = [word.format(slow=slow) for word in kind.words]
    with task(
        *words, log=folder / "log", env={"PORT": str(free_port()), "WORKERS": "2"}
    ) as running:
        running.wait_for(kind.is_busy)
        yield running


# One handler has all signals, and terminals send SIGHUP as they send SIGINT: one kind is enough.
@pytest.mark.parametrize(
    ("name", "number"),
    [*product(KINDS, SIGNALS[:2]), ("serve", signal.SIGHUP)],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_signal_ends_all_of_a_task(name: str, number: signal.Signals, tmp_path: Path) -> None:
    with begun(name, tmp_path) as running:
        running.signal(number)
        running.require_gone()
        assert running.process.returncode == 128 + number, running.output
        assert KINDS[name].message in running.output
        assert "Traceback" not in running.output


def test_a_signal_of_the_whole_group_counts_once(tmp_path: Path) -> None:
    """``timeout 60 ./just serve`` and systemd send it to just, which forwards it, and the task."""
    before = set(RUN.glob("*/run-*"))
    with begun("serve", tmp_path) as running:
        for _ in range(2):
            os.killpg(running.process.pid, signal.SIGTERM)
            time.sleep(0.05)
        running.require_gone()
        assert running.process.returncode == 143
        assert KINDS["serve"].message in running.output
    assert set(RUN.glob("*/run-*")) <= before, "the teardown was left out"


def test_a_signal_within_the_handler_of_another() -> None:
    done = execute(sys.executable, "-c", REENTERED, timeout=170)
    assert done.stdout.splitlines() == [
        line for number in range(1, 16) for line in ("torn down", f"{number} 143")
    ]


def test_a_teardown_that_does_not_end_is_given_up() -> None:
    began = time.monotonic()
    assert execute(sys.executable, "-c", ENDLESS, timeout=170).returncode == 143
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("fetched", "number"),
    [("packages", signal.SIGKILL), *product(["just"], [*SIGNALS, signal.SIGKILL])],
)
def test_an_interrupted_first_install(fetched: str, number: signal.Signals, tmp_path: Path) -> None:
    """While pip fetches just and uv, or uv the project's own packages."""
    clone, programs = tmp_path / "clone", tmp_path / "clone" / ".tools" / "bin"
    programs.mkdir(parents=True)
    (clone / "requirements").mkdir()
    for name in ("just", "Justfile", "requirements/project.txt"):
        shutil.copy(ROOT / name, clone / name)
    installed = ("sh", "dirname", "rm", "sleep", "true", "setpriv")
    for name in installed if fetched == "just" else ("just",):
        (programs / name).symlink_to(find_program(name) or name)
    asked = programs / {"just": "python3", "packages": "uv"}[fetched]
    asked.write_text(
        f"#!/bin/sh\ncase $* in *install*|venv*) : > {clone}/asked; exec sleep 300; esac\n"
    )
    asked.chmod(0o755)
    env = {"PATH": str(programs)} if fetched == "just" else {}
    for _ in range(2):  # the second removes what the first has left
        with task("list", program=clone / "just", log=tmp_path / "log", env=env) as running:
            running.wait_for(lambda _: (clone / "asked").exists())
            running.look()
            running.root.kill() if number == signal.SIGKILL else running.signal(number)
            running.require_gone()
            if number != signal.SIGKILL:
                assert running.process.returncode == 128 + number, running.output
        (clone / "asked").unlink()
        if fetched == "just":  # pip's target
            assert not list(clone.glob(".tools.*"))
            (clone / f".tools.{running.process.pid}").mkdir()


@attempts(3)
def test_a_second_signal_ends_a_task_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """While the first one waits for a server that does not stop."""
    log = tmp_path_factory.mktemp("stubborn") / "log"
    folder = write_server(log.with_name("server"), "sh", "-c", STUBBORN)
    with task("serve", str(folder), log=log, env={"PORT": str(free_port())}) as running:
        running.wait_for(lambda running: (folder / "ready").exists())
        running.signal(signal.SIGINT)
        wait_until((folder / "asked").exists, timeout=GONE)
        time.sleep(0.5)  # two signals within half a second count as one
        began = time.monotonic()
        running.signal(signal.SIGINT)
        running.process.wait(GONE)
        took = time.monotonic() - began
        running.require_gone()
        assert running.process.returncode == 130
        assert took < 1.2, "the second signal waits like the first"


MODULES = {"serve": "harness", "conform": "conformance"}
NUMBERED = re.compile(r"\d+|-X|parent=\d+")  # ids of processes, ports; just's own is an option


def killable(running: Task) -> dict[str, psutil.Process]:
    """One of the task's processes for each depth and command line."""
    found: dict[str, psutil.Process] = {}
    for one in running.look():
        with suppress(psutil.Error):
            words = [word for word in one.cmdline() if not NUMBERED.fullmatch(word)]
            found.setdefault(f"{len(one.parents())} {' '.join(words[:3])}", one)
    return found


def test_a_killed_process_leaves_nothing(tmp_path: Path) -> None:
    """The task goes on, or ends with one line; the next one starts as usual."""
    victims: list[tuple[str, str]] = []
    for name in MODULES:
        with begun(name, tmp_path) as running:
            victims += [(name, sort) for sort in killable(running)]
    folders = [tmp_path / str(number) for number in range(len(victims))]
    with ThreadPoolExecutor(2) as pool:
        killed = list(pool.map(kill, victims, folders))
    assert killed.count(True) > len(victims) / 2, "they are not there at the next start"


def kill(victim: tuple[str, str], folder: Path) -> bool:
    """Start a kind of task, and kill one of its processes, if it is there again."""
    name, sort = victim
    folder.mkdir()
    with begun(name, folder) as running:
        if not (process := killable(running).get(sort)):
            return False
        process.kill()
        goes_on = not wait_until(lambda: running.process.poll() is not None, timeout=3)
        if goes_on:
            running.signal(signal.SIGTERM)
        running.require_gone()
        assert "Traceback" not in running.output
        reported = "killed by SIGKILL" in running.output
        itself = sort.endswith(f"-m {MODULES[name]}") or "--justfile" in sort
        assert goes_on or reported or itself, running.output
    return True
