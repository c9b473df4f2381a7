"""The command line of ``./just bench``."""

import os
import random
import sys
from datetime import timedelta
from pathlib import Path

import click
from rich.progress import Progress
from rich.table import Table

import spec
from bench.analysis.caveats import placement
from bench.analysis.summary import show
from bench.analysis.words import at_level
from bench.generators import prepare as prepare_generator
from bench.generators.workers import Workers, connected
from bench.measuring import machine
from bench.measuring.cores import chosen
from bench.measuring.remote_server import RemoteServer, require_one
from bench.measuring.runner import alone, measure_all, require_conformance_at, serving, start
from bench.measuring.schedule import Trial
from bench.measuring.trial import RunContext
from bench.options import changes_of, resumed, workload_of
from bench.records.result import Run
from bench.records.store import path_of, write
from bench.workloads import images
from bench.workloads.workload import Changes, Images, load_workload, workload_names
from harness.console import progress_bar, result, say, without_bar
from harness.errors import TaskError, UsageError
from harness.servers.catalog import Target, find_targets, require_all
from harness.services import Services, backing_services
from harness.system.processes import raise_limits
from harness.task import reports_errors

_SILENCE = 60.0  # Seconds between lines of progress without a terminal


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("workload", required=False)
@click.argument("names", nargs=-1, metavar="[NAME[/DEPLOYMENT]]...")
@click.option("--list", "to_list", is_flag=True, help="List the workloads.")
@click.option("--quick", is_flag=True, help="Run briefly, only to see that everything works.")
@click.option("--levels", help="Connections or rates, for example 200,1000.")
@click.option("--duration", help="Seconds of load, for all levels or one per level (300,30).")
@click.option("--requests", type=int, help="Total requests, instead of a duration.")
@click.option("--calls", type=int, help="Requests per connection (connection rate).")
@click.option("--timeout", type=float, help="Seconds after which a request counts as failed.")
@click.option("--threads", type=int, help="Threads or processes of the load generator.")
@click.option("--repeats", type=int, help="How often each server is measured.")
@click.option("--warmup", type=float, help="Seconds of load before measuring.")
@click.option("--seed", type=click.IntRange(0), help="Seed of the trials' order; default: random.")
@click.option(
    "--cpus",
    multiple=True,
    metavar="ROLE=CORES",
    help="Cores of the server, database or load, for example server=0-2; or none.",
)
@click.option("--images", type=int, help="Number of generated images.")
@click.option(
    "--case",
    "cases",
    multiple=True,
    help="Settings, for example 'WORKERS=4 THREADS=50', or the name of a case.",
)
@click.option(
    "--workers",
    metavar="HOST,…",
    help="Machines that generate the load: run the command that is printed on each.",
)
@click.option(
    "--target",
    "address",
    metavar="URL",
    help="Measure a server that you run yourself, at http://HOST:PORT; NAME says which it is.",
)
@click.option("--resume", metavar="ID", help="Resume a run ('last': the latest unfinished one).")
@click.option("--json", "to_json", is_flag=True, help="Print the result as JSON.")
@reports_errors
def main(
    workload: str | None,
    names: tuple[str, ...],
    to_list: bool,
    quick: bool,
    cases: tuple[str, ...],
    seed: int | None,
    cpus: tuple[str, ...],
    workers: str | None,
    address: str | None,
    resume: str | None,
    to_json: bool,
    **numbers: str | float | None,
) -> None:
    """Measure servers under a WORKLOAD, once they have passed conformance.

    NAME measures all deployments of a server; without a NAME, the workload's own list is measured.
    Each run writes one file to results/. Ctrl-C keeps finished measurements. Exit status 1 if a
    server failed or a trial has no result, 2 for bad usage.
    """
    if to_list:
        table = Table(box=None, pad_edge=False, show_header=False)
        for name in workload_names():
            table.add_row(name, load_workload(name).title)
        result.print(table)
        return
    if bool(workload) == bool(resume):
        raise UsageError("give a WORKLOAD or --resume: `./just bench --list` shows the workloads")
    changes = changes_of(numbers)
    own = quick or cases or cpus or workers or address or seed is not None
    if resume and (own or changes != Changes()):
        raise UsageError("a run is resumed with its own numbers: give --resume without others")
    if resume:
        run, targets = resumed(resume)
        plan, hosts = run.workload, run.workers
        address = next(iter(run.servers.values())).address
    else:
        plan = workload_of(workload or "", changes, cases, quick=quick)
        targets = serving(plan, find_targets(names or tuple(plan.servers)))
        hosts = workers.split(",") if workers else []
    cores = {} if address else chosen(cpus, sources=bool(plan.sources), workers=plan.workers)
    if address:
        require_one(address, targets, plan, hosts, os.environ)
        if cpus:
            raise UsageError("--cpus is for servers of this machine: leave it out with --target")
    raise_limits()
    machine.require_files(plan.load)
    prepare_generator()
    with alone(), backing_services() as backing:
        there = RemoteServer(address) if address else None
        if not resume:
            run = start(
                Path(workload or "").stem,
                plan,
                targets,
                backing,
                quick=quick,
                seed=random.SystemRandom().randrange(2**32) if seed is None else seed,
                cpus=cores,
                workers=hosts,
                elsewhere=there,
            )
        elif there:
            require_conformance_at(there.url)
        if hosts and not there:
            say("servers listen on all of this machine's addresses until the end")
        try:
            with connected(hosts, machine.identity()) as load:
                _measure(run, targets, backing, load, there)
        except (KeyboardInterrupt, OSError, TaskError):
            if run.measurements:
                show(run)
            raise
    if to_json:
        click.echo(run.model_dump_json(indent=1))
    else:
        show(run)
    say(f"\n{path_of(run)}")
    if not run.complete:
        say(f"not complete: `./just bench --resume {run.id}` tries trials without a result again")
    if run.failures:
        sys.exit(1)
    require_all(names or tuple(plan.servers))


def _measure(
    run: Run,
    targets: list[Target],
    backing: Services,
    workers: Workers | None,
    there: RemoteServer | None,
) -> None:
    if os.environ.get("MONGODB_URL") or os.environ.get("DATABASE_URL"):
        run.cpus.pop("database", None)  # databases of the user's own are never pinned
    write(run)
    pinned = f"; {where}" if (where := placement(run)) else ""
    say(f"{run.id}: the order of trials has seed {run.seed}{pinned}")
    with progress_bar() as bar:
        files, paths = spec.FILES, list(run.workload.paths)
        if run.workload.images:
            files, paths = _images(run.workload.images, backing, bar)
        task = bar.add_task(run.workload_name, total=None, note="")
        aside = without_bar(_SILENCE)

        def progress(trial: Trial, done: int, todo: int, left: float) -> None:
            rest = timedelta(seconds=round(left))
            note = (
                f"{done + 1}/{todo}  about {rest} left  {trial.target.name}, "
                f"{at_level(run.workload.load, trial.level)}, "
                f"repeat {trial.repeat} of {run.workload.repeats}"
            )
            bar.update(task, completed=done, total=todo, note=note)
            aside(note)

        context = RunContext(run.workload, backing, files, paths, workers, run.cpus, there)
        try:
            measure_all(run, targets, context, progress)
        except KeyboardInterrupt:
            say(f"kept in {path_of(run)}; `./just bench --resume {run.id}` continues it")
            raise


def _images(wanted: Images, backing: Services, bar: Progress) -> tuple[Path, list[str]]:
    task = bar.add_task("images", total=wanted.count, note="")
    try:
        return images.prepare(wanted, backing, lambda done: bar.update(task, completed=done))
    finally:
        bar.remove_task(task)
