"""Runs the suite on several servers, shows progress, and keeps the verdicts."""

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from rich.progress import Progress

from conformance import records
from conformance.run import Examination, TargetOrUrl
from conformance.verdict import Verdict, keep, states_of
from harness.console import progress as console
from harness.console import progress_bar, say, without_bar
from harness.errors import TaskError, listed
from harness.paths import CALLER, ROOT
from harness.servers.build import build
from harness.servers.catalog import Target, servers_of
from harness.system.scratch import scratch

# Deployments tested at once: their checks mostly wait
JOBS = len(getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)) + 2

# Servers built at once, while those that are ready are tested: a first build mostly downloads
_BUILDS = 2

_HEAVY = 10  # Seconds of warm-up in a manifest, from which on a server is spread among the others

AGAIN = 3  # Times: some stacks answer, or close the connection, whichever process is first

_SILENCE = 30.0  # seconds between a deployment's lines of progress without a terminal


class Proof:
    """The suite on several servers; ``verdicts`` grows as they finish."""

    def __init__(self, options: Sequence[str] = (), *, record: bool = False) -> None:
        """Take pytest's options, and whether to record observed behaviours."""
        self.options, self.recording = list(options), record
        self.verdicts: list[Verdict] = []

    def run(self, subjects: Sequence[TargetOrUrl], jobs: int = JOBS) -> list[Verdict]:
        """Examine servers, ``jobs`` at once; services must be running.

        Verdicts on deployments are kept, unless options leave checks out. Ctrl-C stops running
        examinations; ``verdicts`` then has the results so far.
        """
        with (
            progress_bar() as bar,
            scratch("reports") as logs,
            ThreadPoolExecutor(_BUILDS) as builders,
            ThreadPoolExecutor(max(jobs, 1)) as pool,
        ):
            examinations = [_prepare(subject, logs, bar) for subject in subjects]
            self.verdicts = [one.verdict for one in examinations]
            ordered = sorted(examinations, key=_place)
            servers = servers_of(one.subject for one in ordered if isinstance(one.subject, Target))
            builds = {one.folder: builders.submit(build, one) for one in servers}
            try:
                list(pool.map(lambda one: self._examine(one, builds), _spread(ordered)))
            except BaseException:
                for executor in (builders, pool):
                    executor.shutdown(wait=False, cancel_futures=True)
                for examination in examinations:
                    examination.end()
                raise
        return self.verdicts

    def _examine(self, examination: Examination, builds: Mapping[Path, Future[None]]) -> None:
        subject, verdict = examination.subject, examination.verdict
        whole = not self.options
        if isinstance(subject, Target):
            try:
                builds[subject.server.folder].result()
            except TaskError as error:
                verdict.error, verdict.unstarted = str(error), True
            verdict.state = states_of([subject])[subject.name]
        began = time.monotonic()
        if not verdict.unstarted:
            examination.run(self.options, behaviours=whole)
        if examination.has_ended:
            return
        verdict.finish()
        examination.progress(0, 0, "")
        if isinstance(subject, Target) and whole:
            if not verdict.error:
                self._compare(subject, examination)
            if examination.has_ended:
                return
            keep(subject, verdict)
        outcome, style = ("passed", "green") if verdict.passed else ("FAILED", "red")
        took = time.monotonic() - began
        console.print(f"{outcome}  {verdict.target}  {took:.0f} s", style=style)

    def _compare(self, target: Target, examination: Examination) -> None:
        """Compare the answers with the server's record; ask again where they differ."""
        verdict = examination.verdict
        verdict.compare(target)
        for _ in range(AGAIN if self.recording or not verdict.unrecorded else 0):
            if not verdict.doubtful:
                break
            say(f"asking {verdict.target} again: {listed(verdict.doubtful)}")
            examination.ask_again(verdict.doubtful)
            if examination.has_ended:
                return
            verdict.compare(target)
        if self.recording:
            changed = "" if verdict.unrecorded else f", {len(verdict.changes)} of them changed"
            path = os.path.relpath(records.write(target, verdict.behaviours), CALLER)
            say(f"wrote {len(verdict.behaviours)} answers of {verdict.target}{changed}: {path}")
            verdict.compare(target)


def prove(subjects: Sequence[TargetOrUrl]) -> list[Verdict]:
    """Examine servers with the whole suite."""
    return Proof().run(subjects)


def _prepare(subject: TargetOrUrl, logs: Path, bar: Progress) -> Examination:
    """An examination that shows how far it is."""
    verdict = _empty(subject)
    name = verdict.target
    task = bar.add_task(name, total=None, note="", start=False, visible=False)
    aside = without_bar(_SILENCE)

    def progress(done: int, total: int, last: str) -> None:
        over = verdict.finished != ""
        note = f"{done}/{total} {last[:50]}"
        bar.start_task(task)
        bar.update(task, completed=done, total=total, note=note, visible=not over)
        if not over:
            aside(f"testing {name}  {note}")

    log = logs / f"{name.replace('/', '--').replace(':', '-')}.log"
    return Examination(subject, verdict, log, progress)


def _empty(subject: TargetOrUrl) -> Verdict:
    if not isinstance(subject, Target):
        return Verdict(subject, subject, compared=False)
    compared = records.find(subject) is not None or subject.server.is_in(ROOT)
    return Verdict(subject.name, subject.called, compared=compared)


def _place(examination: Examination) -> tuple[float, bool]:
    """For sorting: those that take longest to examine come first.

    They take long to warm up, or serve one client at a time.
    """
    subject = examination.subject
    is_concurrent = not isinstance(subject, Target) or subject.deployment.concurrent
    return -_warmup(examination), is_concurrent


def _spread(examinations: Sequence[Examination]) -> list[Examination]:
    """Put the others between servers on a JVM, each start of which takes all cores for seconds."""
    heavy = [one for one in examinations if _warmup(one) >= _HEAVY]
    spread = [one for one in examinations if _warmup(one) < _HEAVY]
    for number, one in enumerate(heavy):
        spread.insert(number * len(examinations) // len(heavy), one)
    return spread


def _warmup(examination: Examination) -> float:
    subject = examination.subject
    return subject.deployment.warmup if isinstance(subject, Target) else 0
