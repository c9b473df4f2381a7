"""What a load generator takes and returns, and how its program is run."""

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
    per_second: Sequence[int] = ()
    """Answered with 200, in time, in each whole second since the load began."""


@dataclass(frozen=True)
class Finished:
    """A program that ran to its end."""

    output: str
    seconds: float
    cpu: float
    observer: float


def run(command: Sequence[str], spec: LoadSpec) -> Finished:
    """Run a generator's program to its end; stop it if this is interrupted."""
    program = find_program(command[0])
    if program is None:
        raise GeneratorError(f"{command[0]} is missing: `just setup` installs it")
    bound = (spec.duration or 0) + (spec.requests or 0) * spec.timeout + spec.timeout + GRACE
    env = os.environ | {"PATH": search_path()}
    log = spec.folder / "generator.txt"
    before, began = _children(), time.monotonic()
    with log.open("w") as output:
        process = spawn([program, *command[1:]], cwd=spec.folder, env=env, output=output)
        observer = time.process_time()
        try:
            status = process.wait(bound)
            observer = time.process_time() - observer
        except subprocess.TimeoutExpired:
            raise GeneratorError(f"{command[0]} did not end within {bound:.0f} s") from None
        finally:
            stop(process, grace=2)
    text = log.read_text(errors="replace")
    if status:
        raise GeneratorError(f"{command[0]}: {ending(status)}\n{text.strip()[-800:]}")
    return Finished(text, time.monotonic() - began, _children() - before, observer)


def _children() -> float:
    """CPU seconds of all child processes that have ended, and of theirs (getrusage(2))."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def percentiles(milliseconds: Sequence[float]) -> Latency | None:
    """The nearest-rank percentiles of sorted samples."""
    if not milliseconds:
        return None
    at = partial(nearest_rank, milliseconds)
    return Latency(
        p50=at(0.5),
        p75=at(0.75),
        p90=at(0.9),
        p95=at(0.95),
        p99=at(0.99),
        p99_9=at(0.999),
        max=milliseconds[-1],
    )
