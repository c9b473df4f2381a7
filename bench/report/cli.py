"""The command line of ``./just report``."""

from pathlib import Path

import click

from bench.records import store
from bench.records.result import Run
from bench.records.store import find, read, readable
from bench.report.folder import write_report
from harness.errors import UsageError
from harness.task import reports_errors


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("results", nargs=-1, metavar="[RESULT]...")
@reports_errors
def main(results: tuple[str, ...]) -> None:
    """Write results as HTML pages in results/report, with their data beside them.

    RESULT is a run's id or file; the default is the newest complete run of each workload. The
    pages need no network and no server. Prints the path of the first one.
    `./just site` makes a site of the published results.
    """
    runs = [read(find(name)) for name in results] or newest(store.RESULTS)
    click.echo(write_report(runs, store.RESULTS / "report"))


def newest(folder: Path) -> list[Run]:
    """The newest complete run of each workload, from each machine."""
    complete = [run for run in readable(sorted(folder.glob("*.json"))) if run.complete]
    found = {
        (run.workload_name, run.place): run for run in sorted(complete, key=lambda run: run.started)
    }
    if not found:
        raise UsageError(
            "there is no complete run yet: `./just bench text --quick` makes one, "
            "`./just bench --resume ID` completes one that was stopped"
        )
    return [found[key] for key in sorted(found)]
