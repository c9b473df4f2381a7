"""The command line."""

import sys
from contextlib import nullcontext
from pathlib import Path

import click

from conformance.prove import Proof, Subject
from conformance.report import as_json, show, write_junit
from conformance.subject import Subject as Server
from harness.catalog import find_targets, require_all
from harness.console import result, say
from harness.errors import UsageError
from harness.paths import CALLER
from harness.services import services
from harness.task import reports_errors
from harness.writing import prepare_file


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, required=True, metavar="NAME[/DEPLOYMENT]...|all|DIR|URL")
@click.option("--record", is_flag=True, help="Write what is observed to behaviours.json.")
@click.option("--json", "to_json", is_flag=True, help="Print JSON instead of the matrix.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML there too.")
@click.option("-k", "expression", help="Only the checks that match, as pytest has it.")
@click.option("-j", "--jobs", default=2, show_default=True, help="Deployments examined at once.")
@reports_errors
def main(
    names: tuple[str, ...],
    record: bool,
    to_json: bool,
    junit: Path | None,
    expression: str | None,
    jobs: int,
) -> None:
    """Prove that servers keep the contract, to the byte, and observe how their stacks behave.

    NAME is a server with all its deployments, DIR any folder with a server.toml. A URL
    (http://HOST:PORT) is any server, ours or not: what needs its databases or its process is left
    out there. Behaviours of this repository's servers have to be those in their behaviours.json;
    those of others are shown. Exit status 1 if a check failed or a behaviour changed, 2 if a server
    could not be found, built or started.
    """
    if record and expression:
        raise UsageError("--record needs the whole suite: leave out -k")
    urls = [name for name in names if "://" in name]
    for url in urls:
        _require_reachable(url)
    targets = find_targets(tuple(name for name in names if "://" not in name))
    subjects: list[Subject] = [*targets, *urls]
    if junit:
        junit = CALLER / junit
        prepare_file(junit)
    proof = Proof(["-k", expression] if expression else [], record=record)
    try:
        with services() if targets else nullcontext():
            proof.run(subjects, jobs)
    except KeyboardInterrupt:
        say("interrupted: what was found so far follows")
        raise
    finally:
        found = [verdict for verdict in proof.verdicts if verdict.checks or verdict.error]
        if to_json:
            click.echo(as_json(found))
        elif found:
            show(found, result)
        if junit:
            write_junit(found, junit)
    if expression and not found:
        raise UsageError(f"-k: no check matches {expression!r}")
    if any(verdict.unstarted for verdict in proof.verdicts):
        sys.exit(UsageError.exit_code)
    if not all(verdict.passed for verdict in found):
        sys.exit(1)
    require_all(names)


def _require_reachable(url: str) -> None:
    subject = Server.at(url)
    try:
        subject.connect(timeout=5).socket.close()
    except OSError as error:
        raise UsageError(f"{url} cannot be reached: {error}") from error
