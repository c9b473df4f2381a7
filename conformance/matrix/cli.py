"""The command line."""

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.matrix.page import render
from conformance.matrix.rows import Row, condensed, rows
from harness.catalog import Target, find_targets
from harness.console import result
from harness.errors import UsageError
from harness.paths import CALLER
from harness.task import reports_errors
from harness.writing import write_whole
from spec.behaviours import questions

_STYLES = {"good": "green", "plain": "", "risky": "bold red"}
_SIGNS = {"good": "", "plain": "", "risky": " ⚠"}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[NAME[/DEPLOYMENT]|DIR]...")
@click.option("--group", help="Show only one group of questions, such as smuggling.")
@click.option("--json", "to_json", is_flag=True, help="Print JSON.")
@click.option(
    "--page", type=click.Path(path_type=Path), help="Write an HTML page to this file instead."
)
@reports_errors
def main(names: tuple[str, ...], group: str | None, to_json: bool, page: Path | None) -> None:
    """Show how stacks behave where the contract does not decide.

    The answers are from the servers' behaviours.json, written by `just conform NAME --record`.
    Questions with different answers come first; ⚠ marks a risky answer. Without a NAME, all
    servers.
    """
    groups = list(dict.fromkeys(question.group for question in questions().values()))
    if group not in (None, *groups):
        raise UsageError(f"there is no group {group!r}: the groups are {', '.join(groups)}")
    targets = find_targets(names or ("all",))
    found = rows(targets, group)
    if not found:
        raise UsageError("these servers have no records: run `just conform NAME --record`")
    if page:
        write_whole(CALLER / page, render(targets, found))
        click.echo(CALLER / page)
    elif to_json:
        click.echo(as_json(found))
    else:
        show(targets, found, result)


def as_json(found: Sequence[Row]) -> str:
    """The questions with their sources, and each deployment's answer with its rating."""
    return json.dumps(
        [
            {
                "id": row.question.id,
                "group": row.question.group,
                "question": row.question.text,
                "source": row.question.source,
                "differs": row.differs,
                "answers": {
                    name: {"answer": answer, "rating": rated.rating if rated else None}
                    for name, answer in row.answers.items()
                    for rated in [row.rated(answer)]
                },
            }
            for row in found
        ],
        indent=2,
        ensure_ascii=False,
    )


def show(targets: Sequence[Target], found: Sequence[Row], console: Console) -> None:
    """Print a table: each question with its answers, and the deployments that give them."""
    every = list(dict.fromkeys(name for row in found for name in row.answers))
    differing = sum(row.differs for row in found)
    table = Table(box=None, pad_edge=False)
    table.add_column("question", no_wrap=True)
    table.add_column("answer", max_width=34)
    table.add_column("who")
    for number, row in enumerate(found):
        if number == differing and number:
            table.add_section()
        for line, (answer, names) in enumerate(row.by_answer().items()):
            rated = row.rated(answer)
            rating = rated.rating if rated else "plain"
            who = "all" if names == every else " ".join(condensed(names, every))
            table.add_row(
                "" if line else row.question.id,
                Text(answer + _SIGNS[rating], style=_STYLES[rating]),
                Text(who),
            )
    console.print(table)
    console.print(f"\n{differing} of {len(found)} questions have different answers", style="bold")
