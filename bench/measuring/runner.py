"""A run: all trials of a workload, each saved as it finishes."""

import sys
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from bench.generators.interface import TransientError
from bench.measuring import machine
from bench.measuring.remote_server import RemoteServer
from bench.measuring.responses import WrongAnswer
from bench.measuring.schedule import Trial, can_run, trials
from bench.measuring.trial import RunContext, measure
from bench.records.result import Failure, Run, ServerInfo
from bench.records.store import now, write
from bench.workloads.workload import Workload
from conformance.prove import prove
from conformance.verdict import passed_as, states_of
from harness.console import say
from harness.errors import TaskError, UsageError
from harness.paths import ROOT, RUN
from harness.servers.catalog import Target
from harness.servers.source import count_lines
from harness.servers.versions import dependencies, runtime
from harness.services import Services
from harness.system.locks import claim

# Called before each trial, with the numbers of trials that are done and that there are to do, and
# the estimated seconds left
Progress = Callable[[Trial, int, int, float], None]

_TRIES = 3  # The most attempts at a trial that fails for reasons that are not the server's
_PAUSE = 3.0  # Seconds between them: a database may be restarting
_GIVE_UP = 3  # Turns in a row without a figure for such reasons, after which a run stops


def alone() -> IO[str]:
    """The lock of all that measures: two at once would disturb each other."""
    held = claim(RUN / "locks" / "measuring")
    if not held:
        raise UsageError("another bench is running: wait until it ends")
    return held


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
    if len({one.name for one in able}) < len(able):
        raise UsageError("two of these servers have the same name: rename the folder of one")
    return able


@dataclass(frozen=True)
class Passed:
    """That a target has passed the suite."""

    fingerprint: str
    state: str = ""  # in which it has; empty for a server that runs elsewhere


def require_conformance(targets: Sequence[Target]) -> dict[str, Passed]:
    """Each target's fingerprint and state.

    Conformance is run for targets without an up-to-date verdict. Raises if a target has not passed,
    or if fingerprints differ.
    """
    states = states_of(targets)
    unproven = [target for target in targets if passed_as(target, states[target.name]) is None]
    if unproven:
        say(f"checking conformance first: {', '.join(one.name for one in unproven)}")
        prove(unproven)
        states |= states_of(unproven)
    found = {target.name: passed_as(target, states[target.name]) for target in targets}
    if refused := [name for name, fingerprint in found.items() if fingerprint is None]:
        raise TaskError(
            f"{', '.join(refused)} did not pass conformance and cannot be measured: "
            f"`./just conform {' '.join(refused)}` shows why"
        )
    whole = {found[target.name] for target in targets if target.server.manifest.parts is None}
    if len(whole) > 1:
        raise TaskError("these servers' fingerprints differ: `./just conform all` shows them")
    return {name: Passed(fingerprint or "", states[name]) for name, fingerprint in found.items()}


def require_conformance_at(url: str) -> Passed:
    """Raises unless the server at an address passes the suite now; it has no fingerprint."""
    say(f"checking conformance first: {url}")
    (verdict,) = prove([url])
    if not verdict.passed:
        raise TaskError(
            f"{url} did not pass conformance and cannot be measured: "
            f"`./just conform {url}` shows why"
        )
    return Passed("")


def start(
    name: str,
    workload: Workload,
    targets: Sequence[Target],
    services: Services,
    *,
    quick: bool,
    seed: int = 0,
    cpus: dict[str, list[int]] | None = None,
    workers: Sequence[str] = (),
    elsewhere: RemoteServer | None = None,
) -> Run:
    """Create a run without measurements."""
    if elsewhere:
        passed = {one.name: require_conformance_at(elsewhere.url) for one in targets}
    else:
        passed = require_conformance(targets)
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return Run(
        id=f"{name}-{stamp}-{uuid.uuid4().hex[:4]}",
        workload_name=name,
        workload=workload,
        quick=quick,
        command=["just", "bench", *sys.argv[1:]],
        started=now(),
        project=machine.commit(),
        machine=machine.describe(),
        versions=machine.versions(services),
        seed=seed,
        cpus=cpus or {},
        workers=list(workers),
        servers={target.name: _info(target, passed[target.name], elsewhere) for target in targets},
    )


def _info(target: Target, passed: Passed, elsewhere: RemoteServer | None) -> ServerInfo:
    manifest = target.server.manifest
    return ServerInfo(
        **manifest.model_dump(include={"title", "language", "framework", "homepage"}),
        model=target.deployment.model,
        folder=target.server.folder.relative_to(ROOT).as_posix(),
        run=target.deployment.run,
        fingerprint=passed.fingerprint,
        state=passed.state,
        versions={} if elsewhere else runtime(target.server) | dependencies(target.server),
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
    if machine.describe().instance != run.machine.instance:
        raise UsageError(
            f"{run.id} cannot be resumed: this is another machine, or it was restarted; "
            "start a new run"
        )
    if (commit := machine.commit()) != run.project:
        raise UsageError(
            f"{run.id} cannot be resumed: it began at commit {run.project}, and this is {commit}: "
            f"`git checkout {run.project.removesuffix('+')}`, or start a new run"
        )
    here = [target for target in targets if not run.servers[target.name].address]
    states = states_of(here)
    changed = [one.name for one in here if run.servers[one.name].state != states[one.name]]
    if changed:
        raise UsageError(
            f"{run.id} cannot be resumed: {', '.join(changed)} or the suite has changed since; "
            "start a new run"
        )


def measure_all(
    run: Run, targets: Sequence[Target], context: RunContext, progress: Progress
) -> None:
    """Measure the trials that have no outcome yet; the result is written after each.

    A failure of the server's own is an outcome. The run is complete if all trials have one.
    """
    settled = {(one.target, one.case, one.level, one.repeat) for one in run.measurements}
    settled |= {failure.key for failure in run.failures if failure.own}
    plan = trials(run.workload, targets, run.seed)
    todo = [trial for trial in plan if trial.key not in settled]
    planned = spent = 0.0
    disturbed = 0
    for done, trial in enumerate(todo):
        name = trial.target.name
        if any(one.target == name and one.disqualifies for one in run.failures):
            continue
        pace = spent / planned if planned else 1.0
        progress(trial, done, len(todo), pace * sum(one.seconds for one in todo[done:]))
        began = time.monotonic()
        outcome = _take(run, trial, context)
        planned, spent = planned + trial.seconds, spent + time.monotonic() - began
        write(run)
        disturbed = 0 if outcome else disturbed + 1
        if disturbed == _GIVE_UP:
            raise TaskError(
                f"{_GIVE_UP} trials in a row failed for reasons other than the servers. The last:\n"
                f"{run.failures[-1].why}\nfix the cause, then `./just bench --resume {run.id}`"
            )
    run.complete, run.finished = all(failure.own for failure in run.failures), now()
    write(run)


def _take(run: Run, trial: Trial, context: RunContext) -> bool:
    """Measure one trial, and record its outcome; return whether it has one.

    If something other than the server fails, the trial is tried again.
    """
    run.failures = [one for one in run.failures if one.key != trial.key]
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        try:
            run.measurements.append(measure(trial, context))
            return True
        except UsageError:
            raise
        except TaskError as error:
            own, wrong = not isinstance(error, TransientError), isinstance(error, WrongAnswer)
            failure = Failure(**trial.place, why=str(error), disqualifies=wrong, own=own)
            if own:
                _fail(run, failure)
                say(f"FAILED  {_words(trial)}: {error}")
                return True
            run.tries.append(failure)
            say(f"not the server's fault: {_words(trial)}: {error}")
    run.failures.append(run.tries.pop())
    say(f"no result for {_words(trial)} (not the server's fault)")
    return False


def _words(trial: Trial) -> str:
    return f"{trial.target.name} ({trial.case.name}, {trial.level:g}, repeat {trial.repeat})"


def _fail(run: Run, failure: Failure) -> None:
    """Record a failure of the server's own.

    After a wrong response, all its measurements are dropped, and no trial of it is still to do.
    """
    if failure.disqualifies:
        name = failure.target
        run.measurements = [one for one in run.measurements if one.target != name]
        run.failures = [one for one in run.failures if one.target != name or one.own]
    run.failures.append(failure)
