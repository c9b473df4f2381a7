"""What a load generator takes and returns, and how its program is run."""

import os
import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.result import Errors, Latency, Step
from bench.workload import Model
from harness.errors import TaskError
from harness.system.processes import ending, spawn, stop
from harness.system.programs import find_program, search_path

IN_FLIGHT = 10_000
"""The most connections of an open model at once; what exceeds it waits for a slot."""
GRACE = 60.0
"""Seconds that a load generator may take beyond its duration and timeout."""
_POLL = 0.05


class GeneratorError(TaskError):
    """A load generator failed."""


@dataclass(frozen=True)
class LoadSpec:
    """A load to put on a server."""

    url: str
    """The server's URL, without a trailing slash."""
    paths: Sequence[str]
    """Request targets, requested in order or at random."""
    random: bool
    model: Model
    level: float
    duration: float | None
    """Seconds; None if ``requests`` limits the load."""
    requests: int | None
    calls: int
    timeout: float
    threads: int
    headers: dict[str, str]
    folder: Path
    """For the generator's own files."""
    sizes: Sequence[int] = ()
    """The length in bytes of the body due for each of ``paths``, if they are known."""
    seed: int = 1
    """Of the random order."""


@dataclass(frozen=True)
class Bodies:
    """The bodies of all responses, in bytes."""

    received: int
    due: int
    """What the complete responses should have had."""
    least: int
    most: int | None
    """The bounds of what a correct server sends: they leave room for unfinished responses, and for
    the mix of paths if it is not known exactly. None if failures have bodies of any length."""

    @property
    def agree(self) -> bool:
        """Whether the sum is that of correct bodies."""
        return self.least <= self.received and (self.most is None or self.received <= self.most)


@dataclass(frozen=True)
class LoadResult:
    """What a load generator measured."""

    command: list[str]
    requests: int
    """Answered with 200, in time."""
    seconds: float
    latency: Latency | None
    errors: Errors
    cpu: float
    """Seconds of CPU time that the generator used."""
    output: str
    observer: float
    """Seconds of CPU time that this program used in that time."""
    busiest: float | None = None
    """The share of a core that the generator's busiest process used, if it reports that."""
    lag: float | None = None
    """The 99th percentile, in milliseconds, of how late requests were sent, without those that the
    server delayed (constant rate)."""
    histogram: str = ""
    """The response times of ``requests``, encoded."""
    attempts: int = 0
    """Requests begun."""
    bodies: Bodies | None = None
    """None if the generator does not count bytes."""
    per_second: list[int] = field(default_factory=list)
    """Good responses in each whole second of the load, to its end; also those without any."""
    rate: float | None = None
    """The capacity."""
    steps: list[Step] = field(default_factory=list)
    """The steps of a search for the capacity."""
    others: int = 0
    """Good responses in other steps, which are in no figure but used CPU time and data sources."""
    workers_cpu: float = 0.0
    """The part of ``cpu`` that other machines used."""
    warnings: list[str] = field(default_factory=list)
    """Reasons to doubt the figures."""

    @property
    def share(self) -> float:
        """The part of all good responses that ``requests`` are."""
        return self.requests / (self.requests + self.others) if self.others else 1.0


@dataclass(frozen=True)
class Finished:
    """A program that ran to its end."""

    output: str
    seconds: float
    cpu: float
    observer: float
    was_stopped: bool
    """Whether it had done its work but did not end."""


@dataclass(frozen=True)
class Look:
    """A function that looks at the running program, given its process id."""

    after: float
    """Seconds from the program's start."""
    at: Callable[[int], None]


def run(
    command: Sequence[str],
    spec: LoadSpec,
    looks: Sequence[Look] = (),
    hangs: Callable[[int], bool] = lambda _: False,
) -> Finished:
    """Run a generator's program to its end; stop it if this is interrupted.

    ``hangs`` tells from its process id whether it has done its work but does not end.
    """
    program = find_program(command[0])
    if program is None:
        raise GeneratorError(f"{command[0]} is missing: `just setup` installs it")
    bound = (spec.duration or 0) + (spec.requests or 0) * spec.timeout + spec.timeout + GRACE
    env = os.environ | {"PATH": search_path()}
    log = output_of(spec)
    before, began = _children(), time.monotonic()
    with log.open("w") as output:
        process = spawn([program, *command[1:]], cwd=spec.folder, env=env, output=output)
        observer = time.process_time()
        try:
            for look in looks:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(began + look.after - time.monotonic(), 0))
                if process.poll() is None:
                    look.at(process.pid)
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


def output_of(spec: LoadSpec) -> Path:
    """The file with the output of the generator's program."""
    return spec.folder / "generator.txt"


def _await(process: subprocess.Popen[bytes], bound: float, hangs: Callable[[int], bool]) -> bool:
    """Wait for the end of a program; return whether it had to be stopped."""
    deadline = time.monotonic() + bound
    while process.poll() is None:
        if hangs(process.pid):
            process.kill()
            process.wait()
            return True
        if time.monotonic() > deadline:
            raise GeneratorError(f"{process.args!s} did not end within {bound:.0f} s")
        time.sleep(_POLL)
    return False


def _children() -> float:
    """CPU seconds of all child processes that have ended, and of theirs (getrusage(2))."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
