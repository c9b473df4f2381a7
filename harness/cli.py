"""The command line."""

import json
import os
import shlex
import sys
import time
from collections.abc import Collection
from pathlib import Path

import click

import spec
from harness import doctor as checks
from harness import listing
from harness.console import result, say
from harness.copies.new import copy_server
from harness.copies.readme import blocks
from harness.copies.skeleton import write_skeleton
from harness.errors import TaskError, UsageError
from harness.paths import CALLER
from harness.servers.build import build, run_in
from harness.servers.catalog import find_servers, find_target, find_targets, require_all, servers_of
from harness.servers.running import running
from harness.servers.settings import read_settings, require_workers
from harness.services import backing_services, delete, fixtures
from harness.services import reset as reset_services
from harness.system.ports import require_free
from harness.system.processes import ending
from harness.task import reports_errors
from harness.toolchains.install import require
from harness.toolchains.known import LOAD_GENERATORS

# Seconds between looks at a server: a wait without end misses a signal that comes just before
_INTERVAL = 0.2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Find, prepare and run the reference servers."""


@main.command()
@click.argument("name", metavar="NAME[/DEPLOYMENT]|DIR")
@reports_errors
def serve(name: str) -> None:
    """Run one server, with its databases, until Ctrl-C.

    Settings such as HOST, PORT, WORKERS and THREADS come from the environment. Set MONGODB_URL,
    DATABASE_URL or SLOW_API_URL to use services of your own; those that are not set are started.
    """
    target = find_target(name)
    settings = read_settings()
    require_workers(target, settings["WORKERS"])
    fixtures.fill(settings)
    require_free(settings["HOST"], int(settings["PORT"]))
    with backing_services() as backing:
        settings |= backing.environment()
        with running(target, settings) as server:
            click.echo(f"{target.server.manifest.title} ({target.name}) serves at {server.url}\n")
            for command in examples(server.url, target.server.manifest.parts):
                click.echo(f"  {command}")
            click.echo("\nCtrl-C stops it")
            try:
                while (status := server.process.poll()) is None:
                    time.sleep(_INTERVAL)
            except KeyboardInterrupt:
                say(f"stopping {target.name}")
                raise
            raise TaskError(f"{target.name} ended unexpectedly: {ending(status)}")


def examples(url: str, parts: Collection[spec.Part] | None = None) -> list[str]:
    """A curl command for each endpoint of these parts at ``url``."""
    found = []
    for part, endpoint in spec.ENDPOINTS.items():
        if parts is None or part in parts:
            found.append(f"curl -i '{url}{endpoint.example}'")
            if part == "notes":
                note = json.dumps({"title": "Hello", "text": "World"})
                found.append(f"curl -i --json '{note}' '{url}/notes'")
    return found


@main.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reports_errors
def list_(as_json: bool) -> None:
    """List the servers and their deployments.

    Lines are non-blank lines of a copy's code and configuration, without tests and lock files.
    """
    servers = find_servers().values()
    if as_json:
        click.echo(listing.as_json(servers))
    else:
        result.print(listing.table(servers))
        result.print(listing.LEGEND)
    require_all(("all",))


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@reports_errors
def setup(names: tuple[str, ...]) -> None:
    """Install and build what NAMEs need; without a NAME, what all servers and `bench` need."""
    targets = find_targets(names or ("all",))
    if not names:
        require(LOAD_GENERATORS)
        say("load generators are ready")
    with backing_services():
        say("databases are ready")
    for server in servers_of(targets):
        build(server)
        say(f"{server.name} is ready")
    require_all(names or ("all",))


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@reports_errors
def check(names: tuple[str, ...]) -> None:
    """Run the linters and tests that servers' manifests list, with the databases running."""
    servers = servers_of(find_targets(names or ("all",)))
    failed = []
    with backing_services() as backing:
        settings = backing.environment() | {"FILES_DIR": str(spec.FILES)}
        for server in servers:
            try:
                if not server.manifest.checks:
                    click.echo(f"none    {server.name}: its manifest names no checks")
                    continue
                build(server)
                say(f"checking {server.name}")
                for command in server.manifest.checks:
                    run_in(server, command, settings)
                click.echo(f"ok      {server.name}")
            except TaskError as error:
                click.echo(f"FAILED  {server.name}: {error}", err=True)
                failed.append(server.name)
    if failed:
        raise TaskError(f"{', '.join(failed)} did not pass")
    require_all(names or ("all",))


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reports_errors
def doctor(as_json: bool) -> None:
    """Check the prerequisites; exit status 2 if a required one is missing."""
    findings = checks.examine()
    if as_json:
        click.echo(json.dumps([vars(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            state = "ok" if finding.ok else "MISSING" if finding.needed else "absent"
            click.echo(f"{state:7}  {finding.what}: {finding.found}")
            if finding.advice:
                click.echo(f"         {finding.advice}")
    if not all(finding.ok for finding in findings if finding.needed):
        sys.exit(UsageError.exit_code)


@main.command()
@reports_errors
def services() -> None:
    """Run only the databases and the slow upstream, until Ctrl-C."""
    with backing_services() as backing:
        settings = backing.environment() | {"FILES_DIR": str(spec.FILES)}
        for name, value in settings.items():
            click.echo(f"export {name}={shlex.quote(value)}")
        say("Ctrl-C stops those that no other task uses")
        while True:
            time.sleep(_INTERVAL)


@main.command()
@click.option("--yes", is_flag=True, help="Also delete from databases of your own.")
@click.option(
    "--data", is_flag=True, help="Delete all data of the databases that tasks run: they start anew."
)
@reports_errors
def reset(yes: bool, data: bool) -> None:
    """Delete the contents of the databases and load the fixtures again.

    In databases of your own (MONGODB_URL, DATABASE_URL), only the collections and tables of the
    fixtures are deleted, and only with --yes.
    """
    if data:
        return delete()
    if not yes and (own := fixtures.names(os.environ)):
        raise UsageError(f"`./just reset --yes` deletes {', '.join(own)}")
    reset_services()


@main.command()
@click.argument("server", metavar="NAME", required=False)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR", required=False)
@click.option("--name", metavar="MY-SERVICE", help="Name of the copy, set in all its files.")
@click.option(
    "--skeleton", metavar="LANGUAGE/NAME", help="Start a new server in this repository instead."
)
@reports_errors
def new(server: str | None, folder: Path | None, name: str | None, skeleton: str | None) -> None:
    """Copy the server NAME to DIR, to start your own service.

    DIR must be new or empty. The copy does not depend on this repository: it has the server's code
    and tests, .env.example with all settings, and a compose.yaml that starts databases with data.
    `./just serve DIR` and `./just conform DIR` still work on it.

    With --skeleton, write the files with which a new server in this repository begins: server.toml
    with all its fields, README.md, .env.example and .gitignore, but no code.
    """
    if skeleton and not (server or folder or name):
        _start(skeleton)
    elif server and folder and not skeleton:
        _copy(server, folder, name)
    else:
        raise UsageError("give NAME and DIR to copy a server, or only --skeleton LANGUAGE/NAME")


def _start(place: str) -> None:
    written = sorted(path.name for path in write_skeleton(place).iterdir())
    name = Path(place).name
    click.echo(f"{place} has {', '.join(written)}. Next, in this order:\n")
    click.echo("  write its code: docs/add-a-server.md shows all of a server")
    click.echo(f"  set the fields of {place}/server.toml")
    click.echo(f"  ./just conform {name}")


def _copy(server: str, folder: Path, name: str | None) -> None:
    source = find_target(server).server
    target = CALLER / folder
    copy_server(source, target, name)
    steps = blocks((target / "README.md").read_text(errors="replace"))[:2]
    click.echo(f"{folder} has a copy of {source.name}. To install and run it:\n")
    for commands in ([f"cd {shlex.quote(str(folder))}"], *steps):
        click.echo(f"  {' && '.join(commands)}")
    click.echo("\nREADME.md explains these commands, and says how to run the tests.")
