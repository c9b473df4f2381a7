"""Prints the figures of a run to the terminal."""

from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.figures import FIGURES, Row, rows_of
from bench.result import Run
from bench.words import at_level, interval_text

SHOWN = ("rate", "p50", "p99", "cpu", "peak")
"""The figures that the summary shows."""


def show(run: Run, console: Console) -> None:
    """Print a table for each case and level, with its warnings, and then the failures."""
    for (case, level), rows in groupby(rows_of(run), key=lambda row: (row.case, row.level)):
        title = f"\n{run.workload_name}, {case}, {at_level(run.workload.load, level)}"
        console.print(Text(title, style="bold"))
        _show_group(list(rows), console)
    for failure in run.failures:
        outcome = "FAILED" if failure.own else "NO FIGURE"
        console.print(Text(f"\n{outcome}  {failure.target}: {failure.why}", style="red"))


def _show_group(rows: list[Row], console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("server", no_wrap=True)
    for name in SHOWN:
        unit = FIGURES[name].unit
        table.add_column(f"{name} {unit}", justify="right", no_wrap=True)
    table.add_column("errors", justify="right")
    table.add_column("tied")
    for row in rows:
        table.add_row(
            f"{row.target}{' !' if row.warnings else ''}",
            *(interval_text(row.estimates.get(name)) for name in SHOWN),
            str(row.errors.total),
            row.tied,
        )
    console.print(table)
    for row in rows:
        for warning in row.warnings:
            console.print(Text(f"  ! {row.target}: {warning}", style="yellow"), soft_wrap=True)
