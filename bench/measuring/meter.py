"""What the programs and the machine used while a load ran."""

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.generators.interface import LoadResult
from bench.measuring.process_tree import Tree
from bench.records.measurement import Cpu, Pressure

_STALLS = Path("/proc/pressure/cpu")
_NETWORK = Path("/proc/net/netstat")
_START = 0.1  # Seconds that the load generator may take before and after its load


@dataclass(frozen=True)
class _Reading:
    """What has been used so far, in seconds."""

    programs: tuple[float, ...]  # CPU time of each program that is metered
    own: float  # CPU time of this one
    cpus: int
    clock: float
    busy: float  # CPU time of all programs and of the kernel
    softirq: float
    steal: float
    # Time in which at least one task waited for a CPU; None on kernels that do not count it
    waited: float | None
    refused: int  # Connections that the kernel has dropped, as no program accepted them

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> "_Reading":
        """What has been used by now.

        Time is busy if it is not idle, which most kernels time. They may count the others by what
        runs at each tick: too much of a program whose timers wake it then
        (Documentation/timers/no_hz.rst in the kernel's source).
        """
        programs, own = tuple(one.cpu() for one in trees), time.process_time()
        times, cpus, clock = psutil.cpu_times(), psutil.cpu_count() or 1, time.monotonic()
        return cls(
            programs=programs,
            own=own,
            cpus=cpus,
            clock=clock,
            busy=clock * cpus - times.idle - times.iowait - times.steal,
            softirq=times.softirq,
            steal=times.steal,
            waited=_waited(_STALLS),
            refused=_refused(_NETWORK),
        )


@dataclass(frozen=True)
class Usage:
    """What was used, by whom, and how contended the CPUs were."""

    cpu: Cpu
    machine: float  # Seconds of CPU time of all programs on this machine
    pressure: Pressure
    refused: int = 0  # Connections that the kernel dropped, as no server accepted them

    @property
    def other_share(self) -> float:
        """The share of the machine that other programs used."""
        return self.cpu.other / self.machine * (self.pressure.machine or 0) if self.machine else 0.0


class Meter:
    """Counts from its creation on; how contended the CPUs are only while a load is meant to last.

    After that, the load generator may go on. If it ``drops_rest``, with a request at a time that
    counts as none, CPU time is not counted then, either.
    """

    def __init__(
        self,
        server: Tree,
        databases: Tree,
        upstream: Tree,
        attackers: Tree,
        seconds: float | None = None,
        *,
        drops_rest: bool = False,
    ) -> None:
        self._drops_rest = drops_rest
        self._trees = (server, databases, upstream, attackers)
        self._before = _Reading.of(self._trees)
        self._in_time: _Reading | None = None
        self._end = threading.Timer(seconds + _START, self._stop) if seconds else None
        if self._end:
            self._end.daemon = True
            self._end.start()

    def _stop(self) -> None:
        self._in_time = _Reading.of(self._trees)

    def usage(self, result: LoadResult) -> Usage:
        """What was used; of a search for the capacity, the share of the result's step."""
        if self._end:
            self._end.cancel()
            self._end.join()
        before, in_time = self._before, self._in_time
        after = in_time if in_time and self._drops_rest else _Reading.of(self._trees)
        elapsed, busy = after.clock - before.clock, after.busy - before.busy
        program, share = after.own - before.own, result.share
        server, database, upstream, attackers = (
            (now - used) * share if tree.roots else None
            for tree, used, now in zip(self._trees, before.programs, after.programs, strict=True)
        )
        known = sum(one or 0 for one in (server, database, upstream, attackers))
        known += (result.cpu - result.workers_cpu + program) * share
        # What this program does between and after the loads is no part of them.
        loaded = sum(step.seconds for step in result.steps) or result.seconds
        return Usage(
            cpu=Cpu(
                server=server,
                database=database,
                upstream=upstream,
                generator=result.cpu * share + (attackers or 0),
                observer=result.observer * min(loaded / elapsed, 1),
                other=max(busy * share - known, 0.0),
            ),
            machine=busy * share,
            pressure=_pressure(before, in_time or after),
            refused=after.refused - before.refused,
        )


def _pressure(before: _Reading, after: _Reading) -> Pressure:
    elapsed = after.clock - before.clock
    available, waited = elapsed * after.cpus, None
    if before.waited is not None and after.waited is not None:
        waited = _share(after.waited - before.waited, elapsed)
    return Pressure(
        cpu_some=waited,
        steal=_share(after.steal - before.steal, available),
        softirq=_share(after.softirq - before.softirq, available),
        machine=_share(after.busy - before.busy, available),
    )


def _share(part: float, whole: float) -> float:
    return round(min(max(part / whole, 0.0), 1.0), 4) if whole > 0 else 0.0


def _waited(stalls: Path) -> float | None:
    """The total in the line "some" (Documentation/accounting/psi.rst in the kernel's source)."""
    try:
        total = re.search(r"^some .*total=(\d+)", stalls.read_text(), re.MULTILINE)
    except OSError:  # no such file, or "operation not supported" if it is off
        return None
    return int(total[1]) / 1e6 if total else None


def _refused(network: Path) -> int:
    """TcpExt's ListenOverflows: a line of names, and below it one of values."""
    try:
        lines = [line.split() for line in network.read_text().splitlines()]
    except OSError:
        return 0
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        if "ListenOverflows" in names:
            return int(values[names.index("ListenOverflows")])
    return 0
