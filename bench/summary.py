"""Figures over the repeats of a run, and how they look in a terminal."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.result import Measurement, Run
from bench.statistics import Estimate, estimate
from bench.workload import UNITS

Metric = Callable[[Measurement], float | None]

METRICS: dict[str, Metric] = {
    "requests/s": lambda one: one.rate,
    "p50 ms": lambda one: one.latency.p50 if one.latency else None,
    "p99 ms": lambda one: one.latency.p99 if one.latency else None,
    "CPU µs/request": lambda one: one.server_cpu_us,
    "peak MB": lambda one: one.memory.peak / 1e6,
}
"""What is summed up, by name."""

HIGHER_IS_BETTER = ("requests/s",)


@dataclass(frozen=True)
class Row:
    """One server in one case at one level, over all its repeats."""

    target: str
    case: str
    level: float
    measurements: list[Measurement]

    @property
    def key(self) -> tuple[str, str, float]:
        """What tells it from other rows."""
        return self.target, self.case, self.level

    def estimate(self, metric: str) -> Estimate | None:
        """A metric over the repeats; None where one of them has no value."""
        values = [METRICS[metric](one) for one in self.measurements]
        known = [value for value in values if value is not None]
        return estimate(known) if known and len(known) == len(values) else None

    @property
    def errors(self) -> int:
        """Requests that failed, in all repeats."""
        return sum(one.errors.total for one in self.measurements)

    @property
    def warnings(self) -> list[str]:
        """Each warning once, however its numbers vary from repeat to repeat."""
        found = [text for one in self.measurements for text in one.warnings]
        return list({re.sub(r"[\d.]+", "", text): text for text in found}.values())


def rows(run: Run) -> list[Row]:
    """All rows of a run, in the order in which they were measured."""
    found: dict[tuple[str, str, float], list[Measurement]] = {}
    for one in run.measurements:
        found.setdefault((one.target, one.case, one.level), []).append(one)
    return [Row(*key, measurements) for key, measurements in found.items()]


def ranked(group: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """Rows of one case and level, fastest first, each with its rank.

    Rows whose intervals overlap that of the first of a rank are tied with it: ``2=``. A single
    repeat gives no rank, because nothing tells how sure it is.
    """
    ordered = sorted(group, key=lambda row: -_rate(row).median)
    ranks: list[int] = []
    first = 0
    for index, row in enumerate(ordered):
        if index and not _rate(row).overlaps(_rate(ordered[first])):
            first = index
        ranks.append(first + 1)
    for rank, row in zip(ranks, ordered, strict=True):
        sure = _rate(row).low is not None
        yield f"{rank}{'=' if ranks.count(rank) > 1 else ' '}" if sure else "", row


def _rate(row: Row) -> Estimate:
    return estimate([one.rate for one in row.measurements])


def show(run: Run, console: Console) -> None:
    """Print a table for each case and level, the warnings below it, and what failed."""
    found = rows(run)
    for case, level in dict.fromkeys((row.case, row.level) for row in found):
        group = [row for row in found if (row.case, row.level) == (case, level)]
        _show_group(run, case, level, group, console)
    for failure in run.failures:
        console.print(Text(f"\nFAILED  {failure.target}: {failure.why}", style="red"))


def _show_group(run: Run, case: str, level: float, group: list[Row], console: Console) -> None:
    unit = UNITS[run.workload.load.model]
    console.print(f"\n{run.workload_name}, {case}, {level:g} {unit}", style="bold")
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("server", no_wrap=True)
    for metric in METRICS:
        table.add_column(metric, justify="right", no_wrap=True)
    table.add_column("errors", justify="right")
    for rank, row in ranked(group):
        table.add_row(
            rank,
            f"{row.target}{' !' if row.warnings else ''}",
            *(shown(row.estimate(metric)) for metric in METRICS),
            str(row.errors),
        )
    console.print(table)
    for row in group:
        for warning in row.warnings:
            console.print(Text(f"  ! {row.target}: {warning}", style="yellow"), soft_wrap=True)


def shown(found: Estimate | None) -> str:
    """A median, with its interval where there is one."""
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return number(found.median)
    return f"{number(found.median)} ({number(found.low)} to {number(found.high)})"


def number(value: float) -> str:
    """Three significant digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
