"""Asks one server every question: ``python -m conformance.behaviours --target NAME``.

Each answer is a line of JSON on stdout, for the process that runs the suite.
"""

from functools import partial

import click

from conformance.behaviours.lab import Lab
from conformance.behaviours.observe import INQUIRIES, Observation, observe, observe_running
from conformance.events import emit
from conformance.subject import Subject, served_parts, start
from harness.errors import TaskError
from harness.servers.catalog import find_target
from harness.services import backing_services
from harness.system.processes import raise_limits
from harness.system.scratch import scratch
from harness.task import end_at_once_on_signals
from spec.behaviours import questions


@click.command()
@click.option("--target", "name", required=True, help="NAME/DEPLOYMENT or http://HOST:PORT")
@click.option("--only", help="ids, separated by commas")
def main(name: str, only: str | None) -> None:
    """Ask a server every question."""
    end_at_once_on_signals()
    raise_limits()  # for 1,000 connections, here and on the servers that are started
    known = [id for id in INQUIRIES if questions()[id].is_for_this_system]
    inquiries = [INQUIRIES[id] for id in (only.split(",") if only else known)]
    if "://" in name:
        server = Subject.at(name)
        served = served_parts(server)
        inquiries = [one for one in inquiries if not one.control and served.issuperset(one.parts)]
        emit(event="asking", count=len(inquiries))
        observe_running(Lab(server), inquiries, _report)
        return
    target = find_target(name)
    parts = frozenset(target.server.manifest.parts or Subject.parts)
    inquiries = [
        one
        for one in inquiries
        if parts.issuperset(one.parts)
        and questions()[one.id].group not in target.deployment.unasked
    ]
    emit(event="asking", count=len(inquiries))
    try:
        with scratch("behaviours") as folder, backing_services() as backing:
            start_one = partial(start, target, backing, folder)
            observe(start_one, target.deployment.concurrent, inquiries, _report)
    except TaskError as error:
        emit(event="unstarted", message=str(error))
        raise SystemExit(1) from error


def _report(seen: Observation) -> None:
    emit(event="behaviour", id=seen.id, answer=seen.answer, error=seen.error)


main()
