"""A run: all turns of a workload, each saved as it finishes."""

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from bench import machine
from bench.answers import WrongAnswer
from bench.measure import RunContext, measure
from bench.plan import Turn, can_run, turns
from bench.result import Failure, Run, ServerInfo, now, write
from bench.workload import Workload
from conformance.prove import prove
from conformance.verdict import passed_as, state_of
from harness.catalog import Target
from harness.console import say
from harness.errors import TaskError, UsageError
from harness.lines import count_lines
from harness.paths import ROOT
from harness.services import Services
from harness.versions import dependencies

Progress = Callable[[Turn, float, float], None]
"""Called before each turn and after the last, with the turn, elapsed and total planned seconds."""


def serving(workload: Workload, targets: Sequence[Target]) -> list[Target]:
    """The targets that serve all parts of a workload and can run at least one of its cases."""
    able = []
    for target in targets:
        parts = target.server.manifest.parts
        if parts is not None and not workload.parts <= set(parts):
            say(f"{target.name} is skipped: it does not serve {' and '.join(workload.parts)}")
            continue
        left_out = [case.name for case in workload.case if not can_run(target, case)]
        if left_out:
            say(f"{target.name} skips {', '.join(left_out)}: it always runs as one process")
        if len(left_out) < len(workload.case):
            able.append(target)
    if not able:
        raise UsageError("none of these servers can run the workload")
    return able


def require_conformance(targets: Sequence[Target]) -> dict[str, str]:
    """Each target's fingerprint; conformance is run for targets without an up-to-date verdict.

    Raises if a target has not passed, or if fingerprints differ.
    """
    unproven = [target for target in targets if passed_as(target) is None]
    if unproven:
        say(f"checking conformance first: {', '.join(one.name for one in unproven)}")
        prove(unproven)
    found = {target.name: passed_as(target) for target in targets}
    if refused := [name for name, fingerprint in found.items() if fingerprint is None]:
        raise TaskError(
            f"{', '.join(refused)} did not pass conformance and cannot be measured: "
            f"`just conform {' '.join(refused)}` shows why"
        )
    whole = {found[target.name] for target in targets if target.server.manifest.parts is None}
    if len(whole) > 1:
        raise TaskError("these servers' fingerprints differ: `just conform all` shows them")
    return {name: fingerprint or "" for name, fingerprint in found.items()}


def start(
    name: str, workload: Workload, targets: Sequence[Target], services: Services, *, quick: bool
) -> Run:
    """Create a run without measurements."""
    fingerprints = require_conformance(targets)
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return Run(
        id=f"{name}-{stamp}-{uuid.uuid4().hex[:4]}",
        workload_name=name,
        workload=workload,
        quick=quick,
        command=machine.command(),
        started=now(),
        project=machine.commit(),
        machine=machine.describe(),
        versions=machine.versions(services),
        servers={target.name: _info(target, fingerprints[target.name]) for target in targets},
    )


def _info(target: Target, fingerprint: str) -> ServerInfo:
    manifest = target.server.manifest
    return ServerInfo(
        title=manifest.title,
        language=manifest.language,
        framework=manifest.framework,
        homepage=manifest.homepage,
        model=target.deployment.model,
        folder=target.server.folder.relative_to(ROOT).as_posix(),
        run=target.deployment.run,
        fingerprint=fingerprint,
        state=state_of(target),
        versions=dependencies(target.server),
        lines=count_lines(target.server),
        drivers={
            name: driver
            for name, driver in (("MongoDB", manifest.mongodb), ("PostgreSQL", manifest.sql))
            if driver
        },
    )


def require_unchanged(run: Run, targets: Sequence[Target]) -> None:
    """Raise if the servers of a run have changed since it was started."""
    changed = [
        target.name for target in targets if run.servers[target.name].state != state_of(target)
    ]
    if changed:
        raise UsageError(
            f"{run.id} cannot be resumed: {', '.join(changed)} or the suite has changed since; "
            "start a new run"
        )


def measure_all(
    run: Run, targets: Sequence[Target], context: RunContext, progress: Progress
) -> None:
    """Measure the remaining turns; the result is written after each."""
    plan = turns(run.workload, targets)
    done = {(one.target, one.case, one.level, one.repeat) for one in run.measurements}
    total, elapsed = sum(turn.seconds for turn in plan), 0.0
    for turn in plan:
        progress(turn, elapsed, total)
        elapsed += turn.seconds
        if turn.key in done or _is_disqualified(run, turn.target.name):
            continue
        try:
            run.measurements.append(measure(turn, context))
        except UsageError:
            raise
        except TaskError as error:
            _fail(run, turn, error)
        write(run)
    progress(plan[-1], total, total)
    run.complete, run.finished = True, now()
    write(run)


def _is_disqualified(run: Run, target: str) -> bool:
    return any(failure.target == target and failure.disqualifies for failure in run.failures)


def _fail(run: Run, turn: Turn, error: TaskError) -> None:
    """Record a failed turn; after a wrong response, drop all the server's measurements."""
    wrong = isinstance(error, WrongAnswer)
    if wrong:
        name = turn.target.name
        run.measurements = [one for one in run.measurements if one.target != name]
    run.failures = [
        *(one for one in run.failures if one.key != turn.key),
        Failure(
            target=turn.target.name,
            case=turn.case.name,
            level=turn.level,
            repeat=turn.repeat,
            why=str(error),
            disqualifies=wrong,
        ),
    ]
    say(f"FAILED  {turn.target.name}: {error}")
