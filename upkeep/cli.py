"""The command line."""

import json
import sys

import click

from conformance.report import show as show_verdicts
from conformance.verdict import Verdict
from harness.catalog import find_target, find_targets, require_all
from harness.console import progress, result
from harness.task import reports_errors
from upkeep import outdated as versions
from upkeep import upgrade_report
from upkeep.ecosystems import project
from upkeep.timing import PAIRS
from upkeep.upgrade import upgrade as upgrade_server


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Keep servers current, and results fit to publish."""


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "to_json", is_flag=True, help="Print JSON, with current dependencies too.")
@reports_errors
def outdated(names: tuple[str, ...], to_json: bool) -> None:
    """List servers' direct dependencies that have newer versions.

    NAME is a server or `project`, the project's own packages; the default is all of them. `have` is
    the locked version, `allowed` the newest that its own constraint and the other packages allow,
    `newest` the newest release. Exit status 0, with or without newer versions; 1 if a registry
    could not be asked.
    """
    wanted = [name for name in names if name != project.NAME] or ([] if names else ["all"])
    servers = {one.server.folder: one.server for one in find_targets(wanted)}
    found = versions.survey(servers.values(), own=not names or project.NAME in names)
    if to_json:
        click.echo(json.dumps([one.as_dict() for one in found], indent=2, ensure_ascii=False))
    else:
        versions.show(found, result)
    if any(one.error for one in found):
        sys.exit(1)
    require_all(wanted)


@main.command()
@click.argument("name", metavar="NAME")
@click.option("--latest", is_flag=True, help="Move constraints to the newest releases, too.")
@click.option(
    "--measure/--no-measure", default=True, help="Compare CPU time before and after (by default)."
)
@click.option(
    "--pairs",
    default=PAIRS,
    show_default=True,
    type=click.IntRange(min=1),
    help="How often both are measured, in turn; fewer give no 95% interval.",
)
@click.option("--json", "to_json", is_flag=True, help="Print JSON.")
@reports_errors
def upgrade(name: str, latest: bool, measure: bool, pairs: int, to_json: bool) -> None:
    """Lock newer versions of a server's dependencies, and show what changes.

    A copy of the server is locked again within its constraints, built, and proved. Shown are the
    packages that moved, the behaviours that changed (old and new answer), and the CPU time per
    request on the old and the new lock, measured in turn. If the proof passes, the lock and
    behaviours.json are replaced together; if it fails, or on Ctrl-C, nothing is written. Exit
    status 1 if the new versions break the contract.
    """
    verdicts: list[Verdict] = []
    found = upgrade_server(
        find_target(name).server, verdicts, latest=latest, pairs=pairs if measure else 0
    )
    if to_json:
        click.echo(json.dumps(found.as_dict(), indent=2, ensure_ascii=False))
    else:
        upgrade_report.show(found, result)
    if verdicts and not found.proved:
        show_verdicts(verdicts, progress)
        sys.exit(1)
