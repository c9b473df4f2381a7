"""The command line."""

import sys
from contextlib import nullcontext
from pathlib import Path

import click

from conformance.prove import prove
from conformance.report import as_json, show, write_junit
from conformance.subject import Subject
from harness.catalog import Target, find_targets
from harness.cli import reports_errors, stop_on_sigterm
from harness.console import result
from harness.errors import UsageError
from harness.services import services


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, required=True, metavar="NAME[/DEPLOYMENT]...|all|URL")
@click.option("--json", "to_json", is_flag=True, help="Print JSON instead of the matrix.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML there too.")
@click.option("-k", "expression", help="Only the checks that match, as pytest has it.")
@click.option("-j", "--jobs", default=2, show_default=True, help="Deployments examined at once.")
@reports_errors
def main(
    names: tuple[str, ...], to_json: bool, junit: Path | None, expression: str | None, jobs: int
) -> None:
    """Prove that servers keep the contract, to the byte.

    NAME is a server with all its deployments. A URL (http://HOST:PORT) is any server, ours or not:
    what needs its databases or its process is left out there, and said so. Exit status 1 if a check
    failed, 2 if a server could not be found, built or started.
    """
    stop_on_sigterm()
    urls = [name for name in names if "://" in name]
    for url in urls:
        _require_reachable(url)
    targets = find_targets(tuple(name for name in names if "://" not in name))
    subjects: list[str | Target] = [*targets, *urls]
    options = ["-k", expression] if expression else []
    with services() if targets else nullcontext():
        verdicts = prove(subjects, options, jobs)
    if junit:
        write_junit(verdicts, junit)
    if to_json:
        click.echo(as_json(verdicts))
    else:
        show(verdicts, result)
    sys.exit(0 if all(verdict.passed for verdict in verdicts) else 1)


def _require_reachable(url: str) -> None:
    subject = Subject.at(url)
    try:
        subject.connect(timeout=5).socket.close()
    except OSError as error:
        raise UsageError(f"{url} cannot be reached: {error}") from error
