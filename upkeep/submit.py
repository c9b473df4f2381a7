"""``./just submit RESULT``: checks a result, and puts it among the published ones."""

import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.analysis.standings import measured_by_table
from bench.analysis.warning_words import text_of
from bench.analysis.words import listed
from bench.records.result import Run
from bench.records.store import read
from bench.records.warning import SPOILING, Spoiling
from bench.workloads.workload import Changes, Workload, load_workload
from harness.errors import TaskError, UsageError
from harness.paths import ROOT
from upkeep.reference import place_of

# Files that describe a server and do not change what it does
_BESIDE = ("README.md", "behaviours.json")

FEWER = "fewer"  # Accepts some of a workload's levels, and fewer repeats
KINDS = [FEWER, *SPOILING]  # What can be accepted
_FEWEST = 2  # Repeats, without which a figure shows nothing of its noise

_QUIET = "measure on a machine with nothing else running"
_FEEBLE = "give the load generator more threads or a machine of its own"
_CORES = "measure on a machine with more cores"
_ADVICE: dict[Spoiling, str] = {
    "busy": _QUIET,
    "waiting": f"{_QUIET}, or with more cores",
    "steal": "measure on a machine that shares its cores with no others",
    "observer": _CORES,
    "generator-busy": _FEEBLE,
    "generator-late": _FEEBLE,
    "absent-load": "give lower --levels: the server does not serve so many connections",
    "overload": "give lower --levels: the machine does not bear the rate",
    "unsteady": "measure for longer, with a longer warm-up",
    "uncompared": "measure again: the server was too busy to be compared",
    "other-clients": "measure with databases that nobody else uses",
}


@dataclass(frozen=True)
class Problem:
    """A reason not to publish a result."""

    what: str
    advice: str


def problems(run: Run, *, accepted: Collection[str] = ()) -> Iterator[Problem]:
    """All reasons not to publish a result, except for those of ``accepted`` :data:`KINDS`."""
    yield from _project(run)
    yield from _length(run, accepted)
    yield from _whole(run)
    yield from _warned(run, accepted)


def _project(run: Run) -> Iterator[Problem]:
    again = "commit the changes, and measure again"
    if run.project.endswith("+"):
        yield Problem(f"files had been changed since commit {run.project[:-1]}", again)
        return
    if _git("cat-file", "-e", f"{run.project}^{{commit}}").returncode:
        yield Problem(
            f"its commit, {run.project}, is not in this repository",
            "submit from the checkout that measured it",
        )
        return
    for folder in sorted({info.folder for info in run.servers.values()}):
        if files := _changed_files(run.project, folder):
            yield Problem(
                f"{folder} has changed since: {listed(files)}",
                "commit the changes and measure again, or submit from the commit that was measured",
            )


def _changed_files(commit: str, folder: str) -> list[str]:
    """A server's files that differ from the commit that was measured."""
    done = _git("diff", "--name-only", "--no-renames", commit, "--", folder)
    untracked = _git("ls-files", "--others", "--exclude-standard", "--", folder)
    names = [*done.stdout.splitlines(), *untracked.stdout.splitlines()]
    return sorted(Path(one).name for one in names if Path(one).name not in _BESIDE)


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def _length(run: Run, accepted: Collection[str]) -> Iterator[Problem]:
    again = f"./just bench {run.workload_name}"
    if run.quick:
        yield Problem("it is a quick run", again)
        return
    try:
        own = load_workload(run.workload_name)
    except UsageError as error:
        yield Problem(str(error), "publish results of the repository's workloads")
        return
    if FEWER in accepted:
        own = _part_of(own, run.workload)
    fewer = f"{again}; or, if that takes too long, --accept {FEWER}"
    used = _fields(run.workload)
    for name, wanted in _fields(own).items():
        if used[name] != wanted:
            advice = fewer if name == "levels" else again
            yield Problem(f"{name} is {used[name]}, and the workload's own is {wanted}", advice)
    if run.workload.repeats < own.repeats:
        yield Problem(f"it has {run.workload.repeats} repeats, of {own.repeats} at least", fewer)


def _fields(workload: Workload) -> dict[str, object]:
    """What must be the workload's own: the fields that are no words, and those of its load."""
    own = workload.model_dump(exclude={"title", "about", "repeats", "load"})
    return own | workload.load.model_dump()


def _part_of(own: Workload, measured: Workload) -> Workload:
    """The workload at those of its levels that were measured, with as few repeats as may be."""
    load = own.load
    levels = [level for level in load.levels if level in measured.load.levels]
    if not levels:
        return own
    duration = load.duration
    if isinstance(duration, list):
        duration = [duration[load.levels.index(level)] for level in levels]
    fewest = min(own.repeats, _FEWEST)
    return own.changed(Changes(levels=levels, duration=duration, repeats=fewest))


def _whole(run: Run) -> Iterator[Problem]:
    if not run.complete:
        yield Problem("it is not complete", f"./just bench --resume {run.id}")
        return
    if not run.measurements:
        yield Problem("it has no measurement", "see its failures: `./just report` shows them")
    few: dict[str, list[str]] = defaultdict(list)
    for (case, level), measured in measured_by_table(run).items():
        for target, repeats in measured.items():
            if len(repeats) < run.workload.repeats:
                few[target].append(f"{case} at {level:g}: {len(repeats)}")
    for target, missing in few.items():
        why = next((one.why for one in run.failures if one.target == target), "unknown")
        yield Problem(
            f"{target} has fewer than {run.workload.repeats} repeats ({'; '.join(missing)}), "
            f"because: {why.splitlines()[0]}",
            f"./just bench {run.workload_name}, once that is mended",
        )


def _warned(run: Run, accepted: Collection[str]) -> Iterator[Problem]:
    for kind in SPOILING:
        spoiled = [
            (one, warning)
            for one in run.measurements
            for warning in one.warnings
            if warning.kind == kind
        ]
        if kind in accepted or not spoiled:
            continue
        targets = list(dict.fromkeys(one.target for one, _ in spoiled))
        some = listed(targets[:3]) if len(targets) < 4 else f"{len(targets)} servers"
        yield Problem(
            f"{len(spoiled)} of {len(run.measurements)} measurements, of {some}, are spoiled: "
            f"{text_of(spoiled[0][1])}",
            f"{_ADVICE[kind]}; or, if that cannot be had, --accept {kind}: the page says so at its "
            "top and beside each figure",
        )


def machine_problems(run: Run, machine: str) -> Iterator[Problem]:
    """Reasons not to publish a result under this machine's name."""
    for path in sorted(place_of(run, machine).parent.glob("*.json.gz")):
        other = read(path).machine
        parts = zip(other.kind, run.machine.kind, strict=True)
        if any(one and here and one != here for one, here in parts):  # or one is not known
            yield Problem(
                f"{machine} is another kind of machine: {', '.join(filter(None, other.kind))}",
                "give this one a name of its own: --machine NAME",
            )
            return


def require(found: Collection[Problem], what: str) -> None:
    """Raise with the list of problems, each with its advice."""
    if found:
        lines = [f"  - {one.what}\n    → {one.advice}" for one in found]
        raise TaskError("\n".join([f"{what} cannot be published:", *lines]))
