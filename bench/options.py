"""The options of ``./just bench``, read and validated."""

from collections.abc import Sequence

from pydantic import ValidationError

from bench.analysis.words import listed
from bench.measuring.runner import require_unchanged
from bench.records.result import Run
from bench.records.store import RESULTS, find, read, readable
from bench.workloads.workload import Case, Changes, Workload, load_workload
from harness.errors import UsageError, describe
from harness.servers.catalog import Target, find_targets


def changes_of(numbers: dict[str, str | float | None]) -> Changes:
    """The numbers that replace those of a workload."""
    given = {
        name: _numbers(name, value) if isinstance(value, str) else value
        for name, value in numbers.items()
    }
    try:
        return Changes.model_validate(given)
    except ValidationError as error:
        raise UsageError(f"--{describe(error, 'changes')}") from error


def _numbers(name: str, text: str) -> list[float] | float:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(one > 0 for one in found):
        raise UsageError(f"--{name}: {text!r} is not a list of positive numbers such as 200,1000")
    return found[0] if name == "duration" and len(found) == 1 else found


def _case(text: str, known: Sequence[Case]) -> Case:
    """One of the workload's own cases, by name; or one of these settings."""
    if own := next((one for one in known if one.name == text), None):
        return own
    settings = dict(part.split("=", 1) for part in text.split() if "=" in part)
    if len(settings) != len(text.split()):
        names = listed(f"{one.name!r}" for one in known)
        raise UsageError(
            f"--case: {text!r} is not a case ({names}), nor settings such as 'WORKERS=4 THREADS=50'"
        )
    try:
        return Case.model_validate({"name": text, "settings": settings})
    except ValidationError as error:
        raise UsageError(f"--case: {describe(error, 'case')}") from error


def workload_of(name: str, changes: Changes, cases: tuple[str, ...], *, quick: bool) -> Workload:
    """The workload as it is to be run."""
    workload = load_workload(name)
    if quick:
        workload = workload.changed(workload.quick)
    if changes.images and not workload.images:
        raise UsageError(f"--images: {name} has paths, no generated images: leave it out")
    if changes.calls and workload.load.model != "connection rate":
        raise UsageError(f"--calls: {name} opens no connections at a rate: leave it out")
    workload = workload.changed(changes)
    if cases:
        workload = workload.model_copy(
            update={"case": [_case(text, workload.case) for text in cases]}
        )
    return workload


def resumed(name: str) -> tuple[Run, list[Target]]:
    """The run to go on with, ``last`` or by its id, and its servers as they are now."""
    if name == "last":
        newest = sorted(RESULTS.glob("*.json"), key=lambda path: -path.stat().st_mtime)
        run = next((one for one in readable(newest) if not one.complete), None)
        if run is None:
            raise UsageError("results/ has no unfinished run")
    else:
        run = read(find(name))
        if run.complete:
            raise UsageError(f"{run.id} is already finished")
    targets = find_targets(tuple(run.servers))
    require_unchanged(run, targets)
    return run, targets
