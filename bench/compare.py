"""``just compare A B``: the differences between two results."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click
from rich.table import Table
from rich.text import Text

from bench.figures import FIGURES, Figure, rows_of
from bench.result import Run, find, read
from bench.statistics import Estimate
from bench.summary import SHOWN
from bench.words import interval_text
from harness.console import result, say
from harness.errors import UsageError
from harness.task import reports_errors


@dataclass(frozen=True)
class Change:
    """The change of one figure of one server, in one case at one level."""

    target: str
    case: str
    level: float
    figure: str
    before: Estimate
    after: Estimate
    ratio: float
    """The median after, divided by the median before."""
    verdict: str
    """``better``, ``worse``, ``same`` (the intervals overlap, or the change is below the
    threshold), or ``unsure`` (a single repeat has no interval)."""


def changes(before: Run, after: Run, least: float) -> Iterator[Change]:
    """All figures that both runs have; a relative change below ``least`` counts as ``same``."""
    known = {(row.target, row.case, row.level): row for row in rows_of(before)}
    for row in rows_of(after):
        key = row.target, row.case, row.level
        if key not in known:
            continue
        for name in SHOWN:
            one, other = known[key].estimates.get(name), row.estimates.get(name)
            if one and other and one.median > 0:
                ratio = other.median / one.median
                verdict = _verdict(FIGURES[name], one, other, ratio, least)
                yield Change(*key, name, one, other, ratio, verdict)


def _verdict(figure: Figure, one: Estimate, other: Estimate, ratio: float, least: float) -> str:
    if one.low is None or other.low is None:
        return "unsure"
    if one.overlaps(other) or abs(ratio - 1) < least:
        return "same"
    return "better" if (ratio > 1) == (figure.better == "more") else "worse"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("before")
@click.argument("after")
@click.option(
    "--least",
    default=5.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Ignore changes of less than this many percent.",
)
@click.option("--json", "to_json", is_flag=True, help="Print JSON.")
@reports_errors
def main(before: str, after: str, least: float, to_json: bool) -> None:
    """Show what changed from result BEFORE to result AFTER (files, or ids in results/).

    A change counts if the 95% intervals do not overlap. Exit status 1 if anything got worse.
    """
    one, other = read(find(before)), read(find(after))
    if one.workload_name != other.workload_name:
        raise UsageError(
            f"{one.workload_name} and {other.workload_name} are different workloads: "
            "compare two results of one workload"
        )
    found = list(changes(one, other, least / 100))
    if not found:
        raise UsageError("these results have no server, case and level in common")
    if to_json:
        click.echo(json.dumps([asdict(change) for change in found], indent=2, ensure_ascii=False))
    else:
        _show(found)
    if one.machine != other.machine:
        say("these results come from different machines, or the machine has changed")
    sys.exit(1 if any(change.verdict == "worse" for change in found) else 0)


_STYLES = {"better": "green", "worse": "red", "same": "dim", "unsure": "yellow"}


def _show(found: list[Change]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("server", "case", "level", "figure"):
        table.add_column(heading)
    for heading in ("before", "after", "ratio", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in found:
        table.add_row(
            one.target,
            one.case,
            f"{one.level:g}",
            f"{one.figure} {FIGURES[one.figure].unit}",
            interval_text(one.before),
            interval_text(one.after),
            f"{one.ratio:.2f}",
            Text(one.verdict, style=_STYLES[one.verdict]),
        )
    result.print(table)


if __name__ == "__main__":
    main(prog_name="just compare")
