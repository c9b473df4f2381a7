"""Tasks that get a signal, and tasks one of whose processes is killed."""

import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from harness.paths import ROOT
from harness.ports import free_port
from harness.processes import wait_until
from harness.services import backing_services
from tests.interrupted import GONE, Task, task

pytestmark = pytest.mark.timeout(600)

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

SLOW = """
title = "Slow to build"
language = "none"
framework = "none"
homepage = "https://example.org"

[build]
run = [["sh", "-c", "sleep 300 & sleep 300"]]
inputs = ["server.toml"]
output = "made"

[[deployment]]
name = "only"
model = "threads"
run = ["true"]
"""

STUBBORN = """
title = "Ends when it is killed"
language = "none"
framework = "none"
homepage = "https://example.org"

[[deployment]]
name = "only"
model = "threads"
run = ["sh", "-c", "trap 'touch asked' TERM; touch ready; while :; do sleep 0.1; done"]
"""


@pytest.fixture(scope="module", autouse=True)
def databases() -> Iterator[None]:
    """Keep them running, so that they are not restarted for each task."""
    with backing_services():
        yield


def runs(words: str) -> Callable[[Task], bool]:
    """Whether a child process of the task has these words in its command line."""

    def look(running: Task) -> bool:
        return any(words in line for line in lines(running))

    return look


def lines(running: Task) -> list[str]:
    found = []
    for one in running.look():
        try:
            found.append(" ".join(one.cmdline()))
        except psutil.Error:
            continue
    return found


def writes(words: str) -> Callable[[Task], bool]:
    """Whether the task has written these words."""
    return lambda running: words in running.output


@dataclass(frozen=True)
class Kind:
    """A kind of task, a condition that holds once it is busy, and its final message."""

    words: tuple[str, ...]
    is_busy: Callable[[Task], bool]
    message: str = ""


KINDS = {
    "serve": Kind(("serve", "tornado"), writes("Ctrl-C stops it"), "stopping tornado/tornado"),
    "services": Kind(("services",), writes("Ctrl-C")),
    "conform": Kind(
        ("conform", "tornado", "aiohttp/aiohttp"),
        runs("-m app.main"),
        "interrupted: these are the results so far",
    ),
    "bench": Kind(
        ("bench", "text", "--quick", "--repeats", "9", "tornado"), runs("h2load"), "kept in"
    ),
    "build": Kind(("serve", "{slow}"), runs("sleep 300"), "building interrupted"),
}


@contextmanager
def begun(name: str, folder: Path) -> Iterator[Task]:
    """A task that is busy."""
    kind = KINDS[name]
    slow = folder / "interrupted"
    slow.mkdir(exist_ok=True)
    (slow / "server.toml").write_text(SLOW)
    words = [word.format(slow=slow) for word in kind.words]
    with task(
        *words, log=folder / "log", env={"PORT": str(free_port()), "WORKERS": "2"}
    ) as running:
        running.wait_for(kind.is_busy)
        yield running


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("name", KINDS)
def test_a_signal_ends_all_of_a_task(name: str, number: signal.Signals, tmp_path: Path) -> None:
    with begun(name, tmp_path) as running:
        began = time.monotonic()
        running.signal(number)
        running.require_gone()
        took = time.monotonic() - began
        assert running.process.returncode == 128 + number, running.output
        assert KINDS[name].message in running.output
        assert "Traceback" not in running.output
    print(f"{name} {number.name}: {took:.1f} s")


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_ends_a_first_install(number: signal.Signals, tmp_path: Path) -> None:
    """On a machine without just and uv, while pip fetches them."""
    programs, clone = tmp_path / "bin", tmp_path / "clone"
    programs.mkdir()
    clone.mkdir()
    shutil.copy(ROOT / "just", clone)
    for name in ("dirname", "rm", "sleep"):
        (programs / name).symlink_to(shutil.which(name) or name)
    python = programs / "python3"
    python.write_text('#!/bin/sh\n[ "$3" != install ] || { : > "$0.asked"; exec sleep 300; }\n')
    python.chmod(0o755)
    env = {"PATH": str(programs)}
    with task("list", program=clone / "just", log=tmp_path / "log", env=env) as running:
        running.wait_for(lambda _: (programs / "python3.asked").exists())
        running.look()
        running.signal(number)
        running.require_gone()
        assert running.process.returncode == 128 + number, running.output
    assert [path.name for path in clone.iterdir()] == ["just"]


def test_a_second_signal_ends_a_task_at_once(tmp_path: Path) -> None:
    """While the first one waits for a server that does not stop."""
    folder = tmp_path / "stubborn"
    folder.mkdir()
    (folder / "server.toml").write_text(STUBBORN)
    with task(
        "serve", str(folder), log=tmp_path / "log", env={"PORT": str(free_port())}
    ) as running:
        running.wait_for(lambda running: (folder / "ready").exists())
        running.signal(signal.SIGINT)
        wait_until((folder / "asked").exists, timeout=GONE)
        began = time.monotonic()
        running.signal(signal.SIGINT)
        running.require_gone()
        assert running.process.returncode == 130
        assert time.monotonic() - began < 1.5, "the second signal waits like the first"


MODULES = {"serve": "harness", "conform": "conformance", "bench": "bench"}


def killable(running: Task) -> dict[str, psutil.Process]:
    """One of the task's processes for each depth and command line."""
    found: dict[str, psutil.Process] = {}
    for one in running.look():
        try:
            words = [word for word in one.cmdline() if not word.isdigit()]
            depth = len(one.parents())
        except psutil.Error:
            continue
        found.setdefault(f"{depth} {' '.join(words[:3])}", one)
    return found


def test_a_killed_process_leaves_nothing(tmp_path: Path) -> None:
    """The task goes on, or ends with one line; the next one starts as usual."""
    with ThreadPoolExecutor(len(MODULES)) as pool:
        list(pool.map(kill_each, MODULES, [tmp_path / name for name in MODULES]))


def kill_each(name: str, folder: Path) -> None:
    """Start a kind of task again and again, until each of its processes has been killed once."""
    folder.mkdir()
    left: set[str] | None = None
    while left is None or left:
        with begun(name, folder) as running:
            sorts = killable(running)
            left = set(sorts) if left is None else left
            sort = left.pop()
            if sort not in sorts:
                continue
            victim = sorts[sort]
            victim.kill()
            wait_until(lambda: running.process.poll() is not None, timeout=3)
            goes_on = running.process.poll() is None
            if goes_on:
                running.signal(signal.SIGTERM)
            running.require_gone()
            assert "Traceback" not in running.output
            reported = "killed by SIGKILL" in running.output
            itself = sort.endswith(f"-m {MODULES[name]}") or "--justfile" in sort
            assert goes_on or reported or itself, running.output
            print(f"killed {sort}: {'goes on' if goes_on else 'ends'}")
