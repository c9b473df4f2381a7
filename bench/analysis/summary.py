"""Prints the figures of a run to the terminal."""

from collections.abc import Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from bench.analysis.caveats import caveats
from bench.analysis.figures import FIGURES, ranking
from bench.analysis.standings import Row, rows_of
from bench.analysis.words import at_level, figure_text, interval_text, kinds_words, ratio_text
from bench.records.result import Run
from bench.records.warning import Severity
from bench.workloads.load import OPEN, Load
from harness.console import result

_STYLES: dict[Severity, str] = {"spoils": "bold yellow", "limits": "yellow", "note": "dim"}
_USED = ("cores", "database_cores", "generator_cores", "rest_cores", "per_core")
_SHOWN = ("rate", "p50", "p99", "cpu", "peak")


def shown(load: Load) -> list[str]:
    """The figures that the summary shows, from the one that ranks."""
    first = ranking(load).name
    return [first, *(name for name in _SHOWN if name != first)]


def column(figure: str, load: Load) -> str:
    """``p99 ms``; says so if the latency is a closed loop's, which leaves out waiting to send."""
    unit = FIGURES[figure].unit
    return f"{figure} {unit}{', closed' if unit == 'ms' and load.model not in OPEN else ''}"


def show(run: Run) -> None:
    """Print the caveats, a table for each case and level with its warnings, and the failures."""
    for caveat in caveats(run):
        result.print(Text(f"! {caveat}", style="yellow"), soft_wrap=True)
    rows = rows_of(run)
    for (case, level), group in groupby(rows, key=lambda row: (row.case, row.level)):
        title = f"\n{run.workload_name}, {case}, {at_level(run.workload.load, level)}"
        result.print(Text(title, style="bold"))
        _show_group(list(group), run.workload.load)
    if rows:
        kinds = {
            row.estimates[name].kind for row in rows for name in _SHOWN if name in row.estimates
        }
        result.print(Text(f"\n{kinds_words(kinds)}", style="dim"), soft_wrap=True)
    for failure in run.failures:
        outcome = "FAILED" if failure.own else "NO RESULT"
        result.print(Text(f"\n{outcome}  {failure.target}: {failure.why}", style="red"))


def _show_group(rows: Sequence[Row], load: Load) -> None:
    first, *others = shown(load)
    table = Table(box=None, pad_edge=False)
    table.add_column("server", no_wrap=True)
    for heading in (column(first, load), "ratio to first"):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("tied")
    for name in (*(column(name, load) for name in others), "errors"):
        table.add_column(name, justify="right", overflow="fold")
    for row in rows:
        table.add_row(
            f"{row.target}{' !' if row.warnings else ''}",
            interval_text(row.estimates.get(first)),
            ratio_text(row.relative),
            row.standing,
            *(interval_text(row.estimates.get(name)) for name in others),
            str(row.errors.total),
        )
    result.print(table)
    _show_use(rows)
    for row in rows:
        for doubt in row.warnings:
            text = f"  {doubt.severity}: {row.target}: {doubt.text}"
            result.print(Text(text, style=_STYLES[doubt.severity]), soft_wrap=True)


def _show_use(rows: Sequence[Row]) -> None:
    """Print who used the cores."""
    table = Table(box=None, pad_edge=False)
    table.add_column("cores used by", no_wrap=True)
    for heading in ("server", "database", "generator", "rest", "requests per core-second"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(row.target, *(figure_text(row.value(name)) for name in _USED))
    result.print(table)
