"""How busy the machine's CPUs are, and how long tasks wait for one."""

import re
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.records.result import Pressure

_STALLS = Path("/proc/pressure/cpu")


@dataclass(frozen=True)
class Counts:
    """Seconds since the machine started."""

    cpus: int
    clock: float
    busy: float  # CPU time of programs and of the kernel
    softirq: float
    steal: float
    # Time in which at least one task waited for a CPU; None on kernels that do not count it
    waited: float | None


@dataclass(frozen=True)
class Use:
    """What the whole machine did in a time."""

    elapsed: float
    seconds: float  # CPU time used
    pressure: Pressure


class Meter:
    """The use of the whole machine since this object was created."""

    def __init__(self) -> None:
        self._before = _now()

    def use(self) -> Use:
        """The use so far."""
        before, after = self._before, _now()
        elapsed = after.clock - before.clock
        available = elapsed * after.cpus
        waited = None
        if before.waited is not None and after.waited is not None:
            waited = _share(after.waited - before.waited, elapsed)
        busy = after.busy - before.busy
        return Use(
            elapsed=elapsed,
            seconds=busy,
            pressure=Pressure(
                cpu_some=waited,
                steal=_share(after.steal - before.steal, available),
                softirq=_share(after.softirq - before.softirq, available),
                machine=_share(busy, available),
            ),
        )


def _share(part: float, whole: float) -> float:
    return round(min(max(part / whole, 0.0), 1.0), 4) if whole > 0 else 0.0


def _now() -> Counts:
    times = psutil.cpu_times()
    idle = times.idle + times.iowait + times.steal + times.guest + times.guest_nice
    return Counts(
        cpus=psutil.cpu_count() or 1,
        clock=time.monotonic(),
        busy=sum(times) - idle,
        softirq=times.softirq,
        steal=times.steal,
        waited=_waited(_STALLS),
    )


def _waited(stalls: Path) -> float | None:
    """The total in the line "some" (Documentation/accounting/psi.rst in the kernel's source)."""
    try:
        total = re.search(r"^some .*total=(\d+)", stalls.read_text(), re.MULTILINE)
    except OSError:  # no such file, or "operation not supported" if it is off
        return None
    return int(total[1]) / 1e6 if total else None
