"""Tasks that are ended at random moments: ``INTERRUPTS=300`` tries as many."""

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from harness.paths import RUN
from harness.services import KINDS
from harness.services.lease import LOCK
from harness.system.locks import is_locked
from harness.system.ports import free_port
from harness.system.processes import wait_until
from tests.interrupted import GONE, Task, task

pytestmark = pytest.mark.alone

TASKS = {
    "serve": ("serve", "tornado"),
    "conform": ("conform", "aiohttp/aiohttp"),
    "bench": ("bench", "text", "--quick", "--repeats", "9", "nginx"),
    "services": ("services",),
}
LATEST = 8.0  # Seconds after the start; half of all moments are in the first quarter
ENDS = {
    "SIGTERM": signal.SIGTERM,
    "SIGINT": signal.SIGINT,
    "kill -9 of all": signal.SIGKILL,
    "kill -9 of just": signal.SIGKILL,
    "kill -9 of the task": signal.SIGKILL,
}


@pytest.mark.parametrize("seed", range(int(os.environ.get("INTERRUPTS", "8"))))
def test_a_task_that_ends_at_a_random_moment(seed: int, tmp_path: Path) -> None:
    name, end = list(TASKS)[seed % len(TASKS)], list(ENDS)[seed % len(ENDS)]
    moment = LATEST * random.Random(seed).random() ** 2
    with task(*TASKS[name], log=tmp_path / "log", env={"PORT": str(free_port())}) as running:
        if end == "SIGINT":  # just misses one that comes while it forks, and does not forward it
            running.wait_for(lambda _: any(" -m " in line for line in running.left()))
        time.sleep(moment)
        deliver(end, running)
        wait_until(lambda: not remains(running), timeout=GONE)
        assert not remains(running), f"{name}, {end} after {moment:.2f} s: {running.output}"
        running.require_gone()
        python_starts = running.output.rstrip().endswith("KeyboardInterrupt")
        if ENDS[end] != signal.SIGKILL and not python_starts:
            number = ENDS[end].value
            assert running.process.returncode in (128 + number, -number), running.output
            assert "Traceback" not in running.output


def deliver(end: str, running: Task) -> None:
    """Signal the whole group, as terminals, timeout(1) and supervisors do; or one process."""
    if end == "kill -9 of just":
        running.root.kill()
    elif end == "kill -9 of the task":
        while running.process.poll() is None:  # its first child checks the environment
            with suppress(psutil.NoSuchProcess):
                for child in running.root.children():
                    child.kill()
            time.sleep(0.02)
    else:
        os.killpg(running.process.pid, ENDS[end])


def remains(running: Task) -> list[str]:
    """What the task has left behind: processes, services and temporary folders."""
    locks = [LOCK, *(RUN / kind.name / "alive" for kind in KINDS)]
    held = [str(lock) for lock in locks if is_locked(lock)]
    return [*running.left(), *held, *map(str, RUN.glob("*/run-*"))]
