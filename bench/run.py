"""A run: all turns of a workload, each saved as it finishes."""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from bench import machine
from bench.answers import WrongAnswer
from bench.disturbed import Disturbed
from bench.elsewhere import Elsewhere
from bench.measure import RunContext, measure
from bench.plan import TimeLeft, Turn, can_run, turns
from bench.result import Failure, Run, ServerInfo, now, write
from bench.workload import Workload
from conformance.prove import prove
from conformance.verdict import passed_as, state_of
from harness.console import say
from harness.errors import TaskError, UsageError
from harness.paths import ROOT
from harness.servers.catalog import Target
from harness.servers.source import count_lines
from harness.servers.versions import dependencies
from harness.services import Services

Progress = Callable[[Turn, int, int, float], None]
"""Called before each turn, with the numbers of turns that are done and that there are to do, and
the estimated seconds left."""

_TRIES = 3
"""The most attempts at a turn that fails for reasons that are not the server's."""
_PAUSE = 3.0
"""Seconds between them: a database may be restarting."""
_GIVE_UP = 3
"""Turns in a row without a figure for such reasons, after which a run stops."""


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


def require_conformance_at(url: str, target: Target) -> str:
    """The fingerprint of the server at an address; raises unless it passes the suite now.

    If the target has a verdict here, the fingerprints must be equal.
    """
    say(f"checking conformance first: {url}")
    (verdict,) = prove([url])
    if not verdict.passed:
        raise TaskError(
            f"{url} did not pass conformance and cannot be measured: `just conform {url}` shows why"
        )
    known = passed_as(target)
    if known and verdict.fingerprint and known != verdict.fingerprint:
        raise TaskError(f"{url} responds otherwise than {target.name} here: update one of them")
    return verdict.fingerprint or ""


def start(
    name: str,
    workload: Workload,
    targets: Sequence[Target],
    services: Services,
    *,
    quick: bool,
    seed: int = 0,
    cpus: Mapping[str, Sequence[int]] | None = None,
    workers: Sequence[str] = (),
    elsewhere: Elsewhere | None = None,
) -> Run:
    """Create a run without measurements."""
    if elsewhere:
        fingerprints = {one.name: require_conformance_at(elsewhere.url, one) for one in targets}
    else:
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
        seed=seed,
        cpus={role: list(cores) for role, cores in (cpus or {}).items()},
        workers=list(workers),
        servers={
            target.name: _info(target, fingerprints[target.name], elsewhere) for target in targets
        },
    )


def _info(target: Target, fingerprint: str, elsewhere: Elsewhere | None) -> ServerInfo:
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
        state="" if elsewhere else state_of(target),
        versions={} if elsewhere else dependencies(target.server),
        address=elsewhere.url if elsewhere else "",
        lines=count_lines(target.server),
        drivers={
            name: driver
            for name, driver in (("MongoDB", manifest.mongodb), ("PostgreSQL", manifest.sql))
            if driver
        },
    )


def require_unchanged(run: Run, targets: Sequence[Target]) -> None:
    """Raise if this machine, this project or the servers have changed since a run was started."""
    here = machine.describe()
    if differences := [
        name
        for name in ("cpu", "cores", "memory", "kernel")
        if getattr(here, name) != getattr(run.machine, name)
    ]:
        raise UsageError(
            f"{run.id} cannot be resumed: this machine differs in {' and '.join(differences)}; "
            "start a new run"
        )
    if (commit := machine.commit()) != run.project:
        raise UsageError(
            f"{run.id} cannot be resumed: it began at commit {run.project}, and this is {commit}: "
            f"`git checkout {run.project.removesuffix('+')}`, or start a new run"
        )
    changed = [
        target.name
        for target in targets
        if not run.servers[target.name].address
        and run.servers[target.name].state != state_of(target)
    ]
    if changed:
        raise UsageError(
            f"{run.id} cannot be resumed: {', '.join(changed)} or the suite has changed since; "
            "start a new run"
        )


def measure_all(
    run: Run, targets: Sequence[Target], context: RunContext, progress: Progress
) -> None:
    """Measure the turns that have no outcome yet; the result is written after each.

    A failure of the server's own is an outcome. The run is complete if all turns have one.
    """
    settled = {(one.target, one.case, one.level, one.repeat) for one in run.measurements}
    settled |= {failure.key for failure in run.failures if failure.own}
    plan = turns(run.workload, targets, run.seed)
    todo = [turn for turn in plan if turn.key not in settled]
    left, disturbed = TimeLeft(), 0
    for done, turn in enumerate(todo):
        if _is_disqualified(run, turn.target.name):
            continue
        progress(turn, done, len(todo), left.of(todo[done:]))
        began = time.monotonic()
        outcome = _take(run, turn, context)
        left.add(turn, time.monotonic() - began)
        write(run)
        disturbed = 0 if outcome else disturbed + 1
        if disturbed == _GIVE_UP:
            raise TaskError(
                f"{_GIVE_UP} turns in a row failed for reasons other than the servers. The last:\n"
                f"{run.failures[-1].why}\nmend it, then `just bench --resume {run.id}`"
            )
    run.complete, run.finished = all(failure.own for failure in run.failures), now()
    write(run)


def _take(run: Run, turn: Turn, context: RunContext) -> bool:
    """Measure one turn, and record its outcome; return whether it has one.

    If something other than the server fails, the turn is tried again.
    """
    run.failures = [one for one in run.failures if one.key != turn.key]
    for attempt in range(1, _TRIES + 1):
        try:
            run.measurements.append(measure(turn, context))
            return True
        except Disturbed as error:
            failure = _failure(turn, error, own=False)
            if attempt == _TRIES:
                run.failures.append(failure)
                say(f"NO FIGURE  {_words(turn)}, though not for a fault of its own: {error}")
                return False
            run.tries.append(failure)
            say(f"again: {_words(turn)}: {error}")
            time.sleep(_PAUSE)
        except UsageError:
            raise
        except TaskError as error:
            _fail(run, turn, error)
            return True
    raise AssertionError


def _words(turn: Turn) -> str:
    return f"{turn.target.name} ({turn.case.name}, {turn.level:g}, repeat {turn.repeat})"


def _is_disqualified(run: Run, target: str) -> bool:
    return any(failure.target == target and failure.disqualifies for failure in run.failures)


def _fail(run: Run, turn: Turn, error: TaskError) -> None:
    """Record a failure of the server's own.

    After a wrong response, all its measurements are dropped, and no turn of it is still to do.
    """
    failure = _failure(turn, error, own=True)
    if failure.disqualifies:
        name = failure.target
        run.measurements = [one for one in run.measurements if one.target != name]
        run.failures = [one for one in run.failures if one.target != name or one.own]
    run.failures.append(failure)
    say(f"FAILED  {_words(turn)}: {error}")


def _failure(turn: Turn, error: TaskError, *, own: bool) -> Failure:
    return Failure(
        target=turn.target.name,
        case=turn.case.name,
        level=turn.level,
        repeat=turn.repeat,
        why=str(error),
        disqualifies=isinstance(error, WrongAnswer),
        own=own,
    )
