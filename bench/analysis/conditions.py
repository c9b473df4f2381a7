"""What the figures of a server were measured under: the use of the cores, beside the figures."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.analysis.words import at_level, figure_text
from bench.records.result import Measurement, Run


@dataclass(frozen=True)
class Conditions:
    """One server, in one case, at one level: medians of all repeats; None if unknown."""

    target: str
    case: str
    level: float
    cores: float | None  # Cores that the server used
    per_core: float | None  # Requests per second for each core that it used
    machine: float | None  # The share of all cores that was in use
    waited: float | None  # The share of time in which a task waited for a CPU
    steal: float | None  # The share of CPU time that the hypervisor gave to others
    softirq: float | None  # The share of CPU time spent in soft interrupts
    processes: int  # The most that were seen, as are threads
    threads: int


def conditions(run: Run) -> list[Conditions]:
    """The conditions of all figures, in the order of cases, levels and names."""
    found: defaultdict[tuple[str, float, str], list[Measurement]] = defaultdict(list)
    for one in run.measurements:
        found[one.case, one.level, one.target].append(one)
    cases = [case.name for case in run.workload.case]
    order = sorted(found, key=lambda key: (cases.index(key[0]), *key[1:]))
    return [_of(found[key]) for key in order]


def _of(repeats: Sequence[Measurement]) -> Conditions:
    def middle(of: Callable[[Measurement], float | None]) -> float | None:
        known = [value for one in repeats if (value := of(one)) is not None]
        return median(known) if known else None

    first = repeats[0]
    return Conditions(
        target=first.target,
        case=first.case,
        level=first.level,
        cores=middle(_cores),
        per_core=middle(lambda one: one.requests / one.cpu.server if one.cpu.server else None),
        machine=middle(lambda one: one.pressure.machine),
        waited=middle(lambda one: one.pressure.cpu_some),
        steal=middle(lambda one: one.pressure.steal),
        softirq=middle(lambda one: one.pressure.softirq),
        processes=max(one.processes for one in repeats),
        threads=max(one.threads for one in repeats),
    )


def _cores(one: Measurement) -> float | None:
    return one.cpu.server / one.seconds if one.cpu.server is not None and one.seconds else None


def show_conditions(run: Run, console: Console) -> None:
    """Print the conditions of all figures as one table."""
    table = Table(box=None, pad_edge=False)
    table.add_column("cores and conditions", no_wrap=True)
    table.add_column("at", no_wrap=True)
    numbers = ("cores used", "requests/s a core", "processes", "threads", "machine used")
    for name in (*numbers, "waits for a CPU", "steal", "softirq"):
        table.add_column(name, justify="right")
    several = len(run.workload.case) > 1
    for one in conditions(run):
        level = at_level(run.workload.load, one.level)
        table.add_row(
            one.target,
            f"{one.case}, {level}" if several else level,
            *(figure_text(one.cores), figure_text(one.per_core)),
            *(str(one.processes), str(one.threads)),
            *(_percent(share) for share in (one.machine, one.waited, one.steal, one.softirq)),
        )
    console.print(Text(""))
    console.print(table)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
