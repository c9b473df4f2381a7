"""The command line."""

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn, ParamSpec

import click
from rich.progress import Progress
from rich.table import Table

import spec
from harness import doctor as checks
from harness.build import build, run_in
from harness.catalog import find_servers, find_target, find_targets
from harness.console import progress, result, say
from harness.errors import TaskError, UsageError
from harness.lines import count_lines
from harness.new import copy_server
from harness.paths import CALLER, ROOT, RUN
from harness.ports import require_free
from harness.server import DEFAULTS, parse_port, require_workers, running
from harness.services import reset as reset_services
from harness.services import services as shared_services
from harness.services.fixtures import names as names_of_data
from harness.toolchains import LOAD_GENERATORS, require

P = ParamSpec("P")


def reports_errors(task: Callable[P, None]) -> Callable[P, None]:
    """Turn a :class:`TaskError` into one message and its exit status, and Ctrl-C into 130."""

    @wraps(task)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            task(*args, **kwargs)
        except TaskError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            sys.exit(130)

    return wrapped


def stop_on_sigterm() -> None:
    """Make SIGTERM end the task as Ctrl-C does, so that what it started is stopped."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Find, prepare and run the reference servers."""
    stop_on_sigterm()


@main.command()
@click.argument("name", metavar="NAME[/DEPLOYMENT]|DIR")
@reports_errors
def serve(name: str) -> None:
    """Serve the contract with one server until Ctrl-C.

    Settings come from the environment, among them HOST, PORT, WORKERS and THREADS. MONGODB_URL,
    DATABASE_URL and SLOW_API_URL name services of your own; what is not named is started.
    """
    target = find_target(name)
    settings = {key: os.environ.get(key) or value for key, value in DEFAULTS.items()}
    require_workers(target, settings["WORKERS"])
    require_free(settings["HOST"], parse_port(settings["PORT"]))
    with shared_services() as around:
        settings |= around.environment()
        settings["FILES_DIR"] = os.environ.get("FILES_DIR") or str(spec.FILES)
        with running(target, settings) as server:
            click.echo(f"{target.server.manifest.title} ({target.name}) serves at {server.url}\n")
            for path in examples(target.server.manifest.parts):
                click.echo(f"  curl -i '{server.url}{path}'")
            click.echo("\nCtrl-C stops it")
            try:
                status = server.process.wait()
            except KeyboardInterrupt:
                say(f"stopping {target.name}")
                return
            raise TaskError(f"{target.name} ended by itself, exit status {status}")


def examples(parts: list[Any] | None = None) -> list[str]:
    """A request target for each endpoint, from the examples in ``openapi.yaml``."""
    found = []
    for path, item in spec.openapi()["paths"].items():
        operation = item["get"]
        if parts is None or operation["tags"][0] in parts:
            found.append(path.replace("{name}", "photo.jpg"))
    return found


@main.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reports_errors
def list_(as_json: bool) -> None:
    """List the servers and their deployments.

    Lines are those of code and configuration that are not blank; tests and locks apart.
    """
    servers = find_servers().values()
    if as_json:
        rows = [
            {
                "name": server.name,
                "folder": str(server.folder.relative_to(ROOT)),
                "lines": count_lines(server),
            }
            | server.manifest.model_dump()
            for server in servers
        ]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False)
    for column in ("name", "lines", "model", "language", "MongoDB", "SQL", "what it has"):
        table.add_column(column, no_wrap=column == "name")
    table.columns[1].justify = "right"
    for server in servers:
        manifest = server.manifest
        lines = str(count_lines(server))
        for deployment in manifest.deployment:
            features = {
                "concurrent": deployment.concurrent,
                "workers": deployment.workers,
                "supervised": deployment.supervised,
            }
            table.add_row(
                f"{server.name}/{deployment.name}",
                lines,
                deployment.model,
                manifest.language,
                manifest.mongodb or "",
                manifest.sql or "",
                ", ".join(name for name, there in features.items() if there),
            )
            lines = ""
    result.print(table)


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@reports_errors
def setup(names: tuple[str, ...]) -> None:
    """Bring what NAMEs need, or all servers and `bench`: toolchains, databases, builds."""
    targets = find_targets(names or ("all",))
    if not names:
        require(LOAD_GENERATORS)
        say("load generators are ready")
    with shared_services():
        say("databases are ready")
    for server in {target.server.name: target.server for target in targets}.values():
        build(server)
        say(f"{server.name} is ready")


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@reports_errors
def check(names: tuple[str, ...]) -> None:
    """Run servers' own linters and tests, as their manifests name them, with databases."""
    servers = {one.server.name: one.server for one in find_targets(names or ("all",))}
    failed = []
    with shared_services() as around:
        settings = around.environment() | {"FILES_DIR": str(spec.FILES)}
        for server in servers.values():
            try:
                if not server.manifest.checks:
                    click.echo(f"none    {server.name}: its manifest names no checks")
                    continue
                build(server)
                for command in server.manifest.checks:
                    run_in(server, command, settings)
                click.echo(f"ok      {server.name}")
            except TaskError as error:
                click.echo(f"FAILED  {server.name}: {error}", err=True)
                failed.append(server.name)
    if failed:
        raise TaskError(f"{', '.join(failed)} did not pass")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reports_errors
def doctor(as_json: bool) -> None:
    """Check what this machine has, and say what is missing; exit status 2 if anything is."""
    findings = checks.examine()
    if as_json:
        click.echo(json.dumps([vars(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(f"{'ok     ' if finding.ok else 'MISSING'}  {finding.what}: {finding.found}")
            if finding.advice:
                click.echo(f"         {finding.advice}")
    if not all(finding.ok for finding in findings):
        sys.exit(UsageError.exit_code)


@main.command()
@reports_errors
def services() -> None:
    """Run the databases and the slow upstream alone until Ctrl-C."""
    with shared_services() as around:
        for name, value in around.environment().items():
            click.echo(f"export {name}='{value}'")
        click.echo(f"export FILES_DIR='{spec.FILES}'")
        say("Ctrl-C stops what no other task uses")
        signal.pause()


@main.command()
@click.option("--yes", is_flag=True, help="Delete in databases of your own too.")
@reports_errors
def reset(yes: bool) -> None:
    """Delete what is in the databases, and fill them with the fixtures.

    Of databases of your own, those that MONGODB_URL and DATABASE_URL name, the collections and
    tables of the fixtures alone are deleted, and with --yes only.
    """
    if not yes and (own := names_of_data(os.environ)):
        raise UsageError(f"`just reset --yes` deletes {', '.join(own)}")
    reset_services()


@main.command()
@click.argument("count", default=10_000)
@click.option("--seed", default=1, show_default=True, help="The same seed gives the same bytes.")
@reports_errors
def images(count: int, seed: int) -> None:
    """Generate COUNT images (10000) of mixed sizes under .run/images."""
    folder = RUN / "images" / f"{count}-{seed}"
    with Progress(console=progress) as bar:
        task = bar.add_task("generating images", total=count)
        spec.write_images(folder, count, seed, lambda done: bar.update(task, completed=done))
    click.echo(folder)


@main.command()
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@reports_errors
def new(name: str, folder: Path) -> None:
    """Copy the server NAME to DIR, as the start of your own."""
    target = CALLER / folder
    copy_server(find_target(name).server, target)
    click.echo(f"{name} is in {target}: its README.md says how to run it")
