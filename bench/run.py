"""A run: all turns of a workload, kept as they are finished."""

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from bench import machine
from bench.answers import WrongAnswer
from bench.measure import Around, measure
from bench.plan import Turn, can_run, turns
from bench.result import Failure, Run, ServerInfo, now, write
from bench.workload import Workload
from conformance.prove import prove
from conformance.verdict import passed_as, state_of
from harness.catalog import Target
from harness.console import say
from harness.errors import TaskError, UsageError
from harness.paths import ROOT
from harness.services import Services
from harness.versions import dependencies

Progress = Callable[[Turn, float, float], None]
"""Called before a turn and after the last: the turn, seconds planned so far, and all of them."""


def serving(workload: Workload, targets: Sequence[Target]) -> list[Target]:
    """Those of the targets that serve all parts that a workload needs, in one of its cases."""
    able = []
    for target in targets:
        parts = target.server.manifest.parts
        if parts is not None and not workload.parts <= set(parts):
            say(f"{target.name} is left out: it does not serve {' and '.join(workload.parts)}")
            continue
        left_out = [case.name for case in workload.case if not can_run(target, case)]
        if left_out:
            say(f"{target.name} is left out of {', '.join(left_out)}: it is always one process")
        if len(left_out) < len(workload.case):
            able.append(target)
    if not able:
        raise UsageError("none of these servers serves what the workload asks for")
    return able


def require_conformance(targets: Sequence[Target]) -> dict[str, str]:
    """Each target's fingerprint; conformance is run where exactly what is there has no verdict.

    What has not passed is refused, and so is what does not answer as the others do.
    """
    unproven = [target for target in targets if passed_as(target) is None]
    if unproven:
        say(f"conformance first, for what has changed: {', '.join(one.name for one in unproven)}")
        prove(unproven)
    found = {target.name: passed_as(target) for target in targets}
    if refused := [name for name, fingerprint in found.items() if fingerprint is None]:
        raise TaskError(
            f"{', '.join(refused)} did not pass conformance and cannot be measured: "
            f"`just conform {' '.join(refused)}` shows why"
        )
    whole = {found[target.name] for target in targets if target.server.manifest.parts is None}
    if len(whole) > 1:
        raise TaskError("these servers do not all answer the same: `just conform all` shows it")
    return {name: fingerprint or "" for name, fingerprint in found.items()}


def start(
    name: str, workload: Workload, targets: Sequence[Target], services: Services, *, quick: bool
) -> Run:
    """A run that is about to begin."""
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
    )


def require_unchanged(run: Run, targets: Sequence[Target]) -> None:
    """Refuse to go on with a run whose servers are no longer what was measured."""
    changed = [
        target.name for target in targets if run.servers[target.name].state != state_of(target)
    ]
    if changed:
        raise UsageError(
            f"{run.id} cannot go on: {', '.join(changed)} or the suite changed since; start anew"
        )


def go(run: Run, targets: Sequence[Target], around: Around, progress: Progress) -> None:
    """Take the turns that are still to be taken; the result is written after each."""
    plan = turns(run.workload, targets)
    done = {(one.target, one.case, one.level, one.repeat) for one in run.measurements}
    total, passed = sum(turn.seconds for turn in plan), 0.0
    for turn in plan:
        progress(turn, passed, total)
        passed += turn.seconds
        if turn.key in done or _is_out(run, turn.target.name):
            continue
        try:
            run.measurements.append(measure(turn, around))
        except UsageError:
            raise
        except TaskError as error:
            _fail(run, turn, error)
        write(run)
    progress(plan[-1], total, total)
    run.complete, run.finished = True, now()
    write(run)


def _is_out(run: Run, target: str) -> bool:
    return any(failure.target == target and failure.disqualifies for failure in run.failures)


def _fail(run: Run, turn: Turn, error: TaskError) -> None:
    """Note a turn without a figure; a server that answers wrongly keeps none at all."""
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
