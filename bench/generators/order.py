"""What a load generator is asked to do, and what it tells."""

import os
import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.percentiles import nearest_rank
from bench.result import Errors, Latency
from bench.workload import Model
from harness.errors import TaskError
from harness.processes import ending, spawn, stop
from harness.programs import find_program, search_path

GRACE = 60.0
"""Seconds that a load generator may take beyond its duration and timeout."""


class OutOfOrder(TaskError):
    """A load generator did not do what it was asked."""


@dataclass(frozen=True)
class Order:
    """A load."""

    url: str
    """The server, without a trailing slash."""
    paths: Sequence[str]
    """Request targets, in turn, or at random."""
    random: bool
    model: Model
    level: float
    duration: float | None
    """Seconds; None where ``requests`` are counted."""
    requests: int | None
    calls: int
    timeout: float
    threads: int
    headers: dict[str, str]
    folder: Path
    """For files of the generator's own."""


@dataclass(frozen=True)
class Outcome:
    """What a load generator found."""

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
    """Seconds of CPU time that this program used meanwhile."""
    busiest: float | None = None
    """The share of a core that its busiest process used, where it says so itself."""
    lag: float | None = None
    """Milliseconds by which requests were sent late at most, but for one in a hundred, where the
    server was not the cause (constant rate)."""


@dataclass(frozen=True)
class Ended:
    """A program that has ended by itself."""

    output: str
    seconds: float
    cpu: float
    observer: float


def run(command: Sequence[str], order: Order) -> Ended:
    """Run a generator's program to its end; it is stopped with whatever interrupts this."""
    program = find_program(command[0])
    if program is None:
        raise OutOfOrder(f"{command[0]} is missing: `just setup` brings it")
    bound = (order.duration or 0) + (order.requests or 0) * order.timeout + order.timeout + GRACE
    env = os.environ | {"PATH": search_path()}
    log = order.folder / "generator.txt"
    before, began = _children(), time.monotonic()
    with log.open("w") as output:
        process = spawn([program, *command[1:]], cwd=order.folder, env=env, output=output)
        observer = time.process_time()
        try:
            status = process.wait(bound)
            observer = time.process_time() - observer
        except subprocess.TimeoutExpired:
            raise OutOfOrder(f"{command[0]} did not end within {bound:.0f} s") from None
        finally:
            stop(process, grace=2)
    told = log.read_text(errors="replace")
    if status:
        raise OutOfOrder(f"{command[0]}: {ending(status)}\n{told.strip()[-800:]}")
    return Ended(told, time.monotonic() - began, _children() - before, observer)


def _children() -> float:
    """CPU seconds of all children that have ended, and of theirs (getrusage(2))."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def percentiles(milliseconds: Sequence[float]) -> Latency | None:
    """The latency of sorted samples, by the nearest rank."""
    if not milliseconds:
        return None
    at = partial(nearest_rank, milliseconds)
    return Latency(
        p50=at(0.5), p75=at(0.75), p90=at(0.9), p99=at(0.99), p99_9=at(0.999), max=milliseconds[-1]
    )
