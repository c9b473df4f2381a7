"""The command line."""

import json
import sys

import click

from bench.result import find, read
from conformance.report import show as show_verdicts
from conformance.verdict import Verdict
from harness.catalog import find_target, find_targets, require_all
from harness.console import progress, result
from harness.errors import UsageError
from harness.paths import CALLER, ROOT
from harness.task import reports_errors
from upkeep import figures as texts
from upkeep import outdated as versions
from upkeep import submit as checks
from upkeep import upgrade_report
from upkeep.copies import replace_all
from upkeep.ecosystems import project
from upkeep.privacy import Identity, remains, without_identity
from upkeep.reference import name_of, pack, place_of
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
    help="How often both are measured, in turn; more give narrower intervals.",
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
    broken = bool(verdicts) and not found.proved
    if broken:
        show_verdicts(verdicts, progress)
    if to_json:
        click.echo(json.dumps(found.as_dict(), indent=2, ensure_ascii=False))
    else:
        upgrade_report.show(found, result)
    if broken:
        sys.exit(1)


@main.command()
@click.argument("name", metavar="RESULT")
@click.option("--machine", help="The machine's name; the default is from its CPU and cores.")
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    type=click.Choice(sorted(checks.KINDS)),
    help="Publish in spite of warnings of this kind; or fewer levels and repeats.",
)
@click.option("--replace", is_flag=True, help="Replace the published result of this workload.")
@click.option("--check", "only_check", is_flag=True, help="Only check; write nothing.")
@reports_errors
def submit(
    name: str, machine: str | None, accepted: tuple[str, ...], replace: bool, only_check: bool
) -> None:
    """Check a RESULT (a file, or an id in results/) and put it among the published ones.

    It must be complete, with the workload's own numbers, of committed files that have not changed
    since, and without warnings that spoil its figures. Paths and names of this machine are taken
    out. It is written to results/reference/MACHINE/WORKLOAD.json.gz, to be committed. Otherwise,
    exit status 1 with a list of what is wrong, and what to do about each.
    """
    path = CALLER / name if name.endswith((".json", ".json.gz")) else find(name)
    run = read(path)
    where = machine or name_of(run.machine)
    if not checks.is_name(where):
        raise UsageError(f"--machine: {where!r}: use a-z, 0-9 and hyphens")
    found = [*checks.problems(run, accepted=accepted), *checks.machine_problems(run, where)]
    identity = Identity.here()
    clean = without_identity(run, identity)
    found += [
        checks.Problem(f"it contains {word}", f"remove that by hand from {path}")
        for word in remains(clean, identity)
    ]
    place = place_of(run, where)
    if place.exists() and not replace:
        found.append(checks.Problem(f"{place.relative_to(ROOT)} exists", "replace it: --replace"))
    checks.require(found, run.id)
    shown = place.relative_to(ROOT)
    if only_check:
        click.echo(f"{run.id} can be published as {shown}")
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    replace_all({place: pack(clean)})
    click.echo(f"{shown} ({place.stat().st_size / 1e6:.1f} MB): commit it, then run `just figures`")


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Only compare; write nothing.")
@reports_errors
def figures(only_check: bool) -> None:
    """Write the figures in README.md and docs/ from the published results.

    A figure stands between <!-- figure: MACHINE/WORKLOAD SERVER LEVEL FIGURE --> and
    <!-- /figure -->; upkeep/cells.py has the options. With --check, exit status 1 if a figure
    differs, or if docs/ has one that comes from no result.
    """
    if not only_check:
        for path in texts.texts():
            if texts.update(path):
                click.echo(f"updated {path.relative_to(ROOT)}")
    wrong = [one for path in texts.texts() for one in texts.check(path, strict=path.parent != ROOT)]
    for one in wrong:
        click.echo(str(one), err=True)
    if wrong:
        sys.exit(1)
