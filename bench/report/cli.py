"""The command line of ``./just report``."""

from collections.abc import Iterator
from pathlib import Path

import click

from bench.records import store
from bench.records.result import Run
from bench.records.store import find, read, readable
from bench.report.folder import BEHAVIOURS, write_report
from harness.errors import UsageError
from harness.paths import CALLER
from harness.task import reports_errors


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("results", nargs=-1, metavar="[RESULT]...")
@click.option(
    "--site",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write results/ and behaviours.html into this folder, beside what it has, to publish it.",
)
@click.option(
    "--code",
    metavar="URL",
    help="The repository's address, to link code as URL/tree/COMMIT/PATH instead of in this clone.",
)
@reports_errors
def main(results: tuple[str, ...], site: Path | None, code: str | None) -> None:
    """Write results as HTML pages, with their data beside them.

    RESULT is a run's id or file, or a folder of results; the default is the newest complete run of
    each workload. The pages need no network and no server; they are written to results/report
    unless --site is given. Prints the path of the first page.
    """
    if code and not code.startswith("https://"):
        raise UsageError(f"--code {code}: give an address that starts with https://")
    runs = [run for name in results for run in _named(name)] or newest(store.RESULTS)
    if site:
        folder, behaviours = CALLER / site / "results", f"../{BEHAVIOURS}"
    else:
        folder, behaviours = store.RESULTS / "report", BEHAVIOURS
    click.echo(write_report(runs, folder, behaviours=behaviours, code=code))


def _named(name: str) -> Iterator[Run]:
    folder = CALLER / name
    if not folder.is_dir():
        yield read(find(name))
        return
    paths = sorted([*folder.rglob("*.json"), *folder.rglob("*.json.gz")])
    if not paths:
        raise UsageError(f"there is no result in {folder}")
    yield from map(read, paths)


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
