"""The command line."""

import json
import os
import sys
from contextlib import ExitStack

import click

from conformance.prove import JOBS, Proof
from conformance.report import show
from conformance.run import TargetOrUrl
from conformance.subject import Subject
from harness.console import result, say
from harness.errors import UsageError
from harness.servers.catalog import find_targets, require_all
from harness.services import backing_services
from harness.task import reports_errors


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, required=True, metavar="NAME[/DEPLOYMENT]...|all|DIR|URL")
@click.option("--record", is_flag=True, help="Write the observed behaviours to behaviours.json.")
@click.option("--json", "to_json", is_flag=True, help="Print JSON instead of the table.")
@click.option("-k", "expression", help="Run only matching checks (like pytest's -k).")
@click.option("-j", "--jobs", default=JOBS, show_default=True, help="Deployments tested at once.")
@reports_errors
def main(
    names: tuple[str, ...],
    record: bool,
    to_json: bool,
    expression: str | None,
    jobs: int,
) -> None:
    """Prove that servers keep the contract, byte for byte, and observe how their stacks behave.

    NAME tests all deployments of a server; DIR is any folder with a server.toml. A URL
    (http://HOST:PORT) is any running server; checks that need its databases or its process are
    skipped.

    Behaviours must match the server's behaviours.json. Without that file they are only shown, but a
    server in this repository fails until they are recorded. Exit status 1 if a check failed or a
    behaviour changed, 2 if a server could not be found, built or started.
    """
    urls = [name for name in names if "://" in name]
    if record and (expression or urls):
        raise UsageError("--record needs the whole suite on a server that it starts: no -k, no URL")
    for url in urls:
        _require_reachable(url)
    targets = find_targets(tuple(name for name in names if "://" not in name))
    subjects: list[TargetOrUrl] = [*targets, *urls]
    proof = Proof(["-k", expression] if expression else [], record=record)
    try:
        with ExitStack() as held:
            if targets:  # the processes that run the suite find the services in the environment
                os.environ |= held.enter_context(backing_services()).environment()
            proof.run(subjects, jobs)
    except KeyboardInterrupt:
        say("interrupted: these are the results so far")
        raise
    finally:
        found = [verdict for verdict in proof.verdicts if verdict.checks or verdict.error]
        if to_json:
            click.echo(json.dumps([one.as_dict() for one in found], indent=2, ensure_ascii=False))
        elif found:
            show(found, result)
    if expression and not found:
        raise UsageError(f"-k: no check matches {expression!r}")
    if any(verdict.unstarted for verdict in proof.verdicts):
        sys.exit(UsageError.exit_code)
    if not all(verdict.passed for verdict in found):
        sys.exit(1)
    require_all(names)


def _require_reachable(url: str) -> None:
    try:
        Subject.at(url).connect(timeout=5).socket.close()
    except OSError as error:
        raise UsageError(f"{url} cannot be reached ({error}): is the server running?") from error
