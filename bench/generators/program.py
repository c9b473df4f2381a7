"""Runs the program of a load generator."""

import os
import resource
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.generators.interface import GeneratorError, LoadSpec
from harness.system.processes import ending, spawn, stop
from harness.system.programs import search_path

GRACE = 60.0  # Seconds that a load generator may take beyond its duration and timeout
_POLL = 0.25  # Seconds between two looks at whether it hangs


@dataclass(frozen=True)
class Finished:
    """A program that ran to its end."""

    output: str
    seconds: float
    cpu: float
    observer: float
    was_stopped: bool  # Whether it had done its work but did not end


def run(
    command: Sequence[str],
    spec: LoadSpec,
    looks: Sequence[float] = (),
    look: Callable[[int], None] = lambda _: None,
    hangs: Callable[[], bool] = lambda: False,
) -> Finished:
    """Run a generator's program to its end; stop it if this is interrupted.

    ``look`` gets its process id at times, the ``looks``, in seconds from its start. ``hangs``
    tells whether the program has done its work but does not end.
    """
    requests = (spec.load.requests or 0) + 1
    bound = (spec.duration or 0) + requests * spec.load.timeout + GRACE
    env = os.environ | {"PATH": search_path()}
    log = spec.folder / "generator.txt"
    before, began = _children(), time.monotonic()
    with log.open("w") as output:
        process = spawn(command, cwd=spec.folder, env=env, output=output)
        observer = time.process_time()
        try:
            for after in looks:
                if not _ends_within(max(began + after - time.monotonic(), 0), process):
                    look(process.pid)
            was_stopped = _await(process, bound, hangs)
            seconds = time.monotonic() - began
            observer = time.process_time() - observer
        finally:
            stop(process, grace=2)
    text = log.read_text(errors="replace")
    if process.returncode and not was_stopped:
        raise GeneratorError(f"{command[0]}: {ending(process.returncode)}\n{text.strip()[-800:]}")
    cpu = _children() - before
    return Finished(text, seconds, cpu, observer, was_stopped)


def _await(process: subprocess.Popen[bytes], bound: float, hangs: Callable[[], bool]) -> bool:
    """Wait for the end of a program; return whether it had to be stopped."""
    deadline = time.monotonic() + bound
    while not _ends_within(_POLL, process):
        if hangs():
            process.kill()
            process.wait()
            return True
        if time.monotonic() > deadline:
            raise GeneratorError(f"{process.args!s} did not end within {bound:.0f} s")
    return False


def _ends_within(seconds: float, process: subprocess.Popen[bytes]) -> bool:
    """Whether a program ends in that time; waits without asking again and again (pidfd_open(2))."""
    if process.poll() is None:
        ended = os.pidfd_open(process.pid)
        try:
            waiting = select.poll()  # select(2) takes no descriptor above 1023
            waiting.register(ended, select.POLLIN)
            waiting.poll(seconds * 1000)
        finally:
            os.close(ended)
    return process.poll() is not None


def _children() -> float:
    """CPU seconds of all child processes that have ended, and of theirs (getrusage(2))."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
