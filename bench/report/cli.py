"""The command line of ``just report``."""

from collections.abc import Iterable
from pathlib import Path

import click

from bench import result
from bench.report.files import write_report
from bench.result import Run, find, read
from harness.console import say
from harness.errors import UsageError
from harness.task import reports_errors


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("results", nargs=-1, metavar="[RESULT]...")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder to write to, instead of results/report.",
)
@reports_errors
def main(results: tuple[str, ...], output: Path | None) -> None:
    """Write results as an HTML page, with its charts as PNG and SVG files beside it.

    RESULT is a run's id or file; the default is the newest complete run of each workload. Prints
    the path of the page.
    """
    runs = [read(find(name)) for name in results] if results else newest(result.RESULTS)
    click.echo(write_report(runs, output or result.RESULTS / "report"))


def newest(folder: Path) -> list[Run]:
    """The newest complete run of each workload."""
    complete = [run for run in _readable(folder.glob("*.json")) if run.complete]
    found = {run.workload_name: run for run in sorted(complete, key=lambda run: run.started)}
    if not found:
        raise UsageError(
            "there is no complete run yet: `just bench text --quick` makes one, "
            "`just bench --resume last` completes one that was stopped"
        )
    return [found[name] for name in sorted(found)]


def _readable(paths: Iterable[Path]) -> Iterable[Run]:
    for path in sorted(paths):
        try:
            yield read(path)
        except UsageError as error:
            say(f"skipped: {error}")
