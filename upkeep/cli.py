"""The command line."""

import re
import sys
from pathlib import Path

import click

from bench.records.store import find, read
from bench.report.overview import tables_of
from bench.report.picture import overview_svg
from bench.report.section import sections_of
from harness.errors import UsageError
from harness.paths import CALLER, ROOT
from harness.servers.manifest import WORD
from harness.system.files import write_whole
from harness.task import reports_errors
from upkeep import submit as checks
from upkeep import texts
from upkeep.privacy import Identity, remains, without_identity
from upkeep.reference import all_published, name_of, pack, place_of
from upkeep.site.build import write_site

PICTURE = ROOT / "docs" / "overview.svg"  # That README shows


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Publish results, and update the numbers in README, docs/ and the site."""


@main.command()
@click.argument("name", metavar="RESULT")
@click.option("--machine", help="The machine's name; the default comes from its CPU and cores.")
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    type=click.Choice(sorted(checks.KINDS)),
    help="Publish despite warnings of this kind, or despite fewer levels and repeats.",
)
@click.option("--replace", is_flag=True, help="Replace the published result of this workload.")
@reports_errors
def submit(name: str, machine: str | None, accepted: tuple[str, ...], replace: bool) -> None:
    """Check a RESULT (a file, or an id in results/) and publish it in this repository.

    It must be complete, use the workload's own numbers, come from committed files that have not
    changed since, and have no warnings that spoil its values. It is written to
    results/reference/MACHINE/WORKLOAD.json.gz, without this machine's paths and names, for you to
    commit. Exit status 1 if anything is wrong, with a list of what to do about it.
    """
    path = find(name)
    run = read(path)
    where = machine or name_of(run.machine)
    if not re.fullmatch(WORD, where, re.ASCII):
        raise UsageError(f"--machine: {where!r}: use a-z, 0-9 and hyphens")
    found = [*checks.problems(run, accepted=accepted), *checks.machine_problems(run, where)]
    identity = Identity.here()
    clean = without_identity(run, identity)
    found += [
        checks.Problem(f"it contains {word}", f"remove that by hand from {path}")
        for word in remains(clean, identity)
    ]
    place = place_of(run, where)
    shown = place.relative_to(ROOT)
    if place.exists() and not replace:
        found.append(checks.Problem(f"{shown} exists", "replace it: --replace"))
    checks.require(found, run.id)
    write_whole(place, pack(clean))
    click.echo(
        f"{shown} ({place.stat().st_size / 1e6:.1f} MB): commit it, then run `./just figures`"
    )


@main.command()
@click.option("--check", "only_check", is_flag=True, help="Only compare; write nothing.")
@reports_errors
def figures(only_check: bool) -> None:
    """Update the numbers in README.md and docs/, and the picture, from the published results.

    A number or a table stands between <!-- {{ CALL }} --> and <!-- end -->; upkeep/functions.py has
    the functions. With --check, exit status 1 if one differs, or if docs/ has a number that comes
    from no result.
    """
    if not only_check:
        for path in texts.texts():
            if texts.update(path):
                click.echo(f"updated {path.relative_to(ROOT)}")
        first, *_ = tables_of(sections_of(all_published()))
        write_whole(PICTURE, overview_svg(first))
    wrong = [one for path in texts.texts() for one in texts.check(path)]
    for one in wrong:
        click.echo(str(one), err=True)
    if wrong:
        sys.exit(1)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="[DIR]", default=ROOT / "_site")
@click.option(
    "--code",
    metavar="URL",
    help="The repository's address, to link code as URL/tree/COMMIT/PATH instead of in this clone.",
)
@reports_errors
def site(folder: Path, code: str | None) -> None:
    """Build the site of the published results and the recorded behaviours.

    DIR must be new, empty, or an earlier site, which is replaced; the default is _site/. The pages
    need no network and no server: open the first one, whose path is printed.
    """
    if code and not code.startswith("https://"):
        raise UsageError(f"--code {code}: give an address that starts with https://")
    click.echo(write_site((CALLER / folder).resolve(), code))
