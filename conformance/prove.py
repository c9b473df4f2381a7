"""Examines several servers, shows how far it is, and records what was found."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.run import examine
from conformance.verdict import Verdict, record, state_of
from harness.build import build
from harness.catalog import Target
from harness.console import progress as console
from harness.scratch import scratch


def prove(
    subjects: Sequence[str | Target], options: Sequence[str] = (), jobs: int = 2
) -> list[Verdict]:
    """Run the suite on servers, ours or at addresses, ``jobs`` at once; services must be there.

    A verdict on one of ours is recorded, unless ``options`` (pytest's) leave checks out.
    """
    targets = [subject for subject in subjects if isinstance(subject, Target)]
    for server in {target.server.name: target.server for target in targets}.values():
        build(server)
    with _bar() as bar, ThreadPoolExecutor(max(jobs, 1)) as pool, scratch("reports") as logs:

        def examined(subject: str | Target) -> Verdict:
            return _examine(subject, list(options), logs, bar)

        return list(pool.map(examined, subjects))


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}", style="dim", markup=False),
        console=console,
        transient=True,
    )


def _examine(subject: str | Target, options: list[str], logs: Path, bar: Progress) -> Verdict:
    name = subject.name if isinstance(subject, Target) else subject
    state = state_of(subject) if isinstance(subject, Target) else ""
    task = bar.add_task(name, total=None, last="")

    def progress(done: int, total: int, last: str) -> None:
        bar.update(task, completed=done, total=total, last=last[:50])

    root = ["--root", str(subject.server.folder.parents[1])] if isinstance(subject, Target) else []
    log = logs / f"{name.replace('/', '--').replace(':', '-')}.log"
    verdict = examine(name, state=state, options=[*root, *options], log=log, progress=progress)
    bar.remove_task(task)
    outcome, style = ("passed", "green") if verdict.passed else ("FAILED", "red")
    console.print(f"{outcome}  {name}", style=style)
    if isinstance(subject, Target) and not options:
        record(subject, verdict)
    return verdict
