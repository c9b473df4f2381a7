"""What a reader must know about a whole run before its figures."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

import spec
from bench.analysis.words import listed
from bench.measuring.cores import as_text
from bench.records.result import Run

_NAMES: dict[spec.Source, str] = {
    "mongodb": "MongoDB",
    "postgresql": "PostgreSQL",
    "upstream": "the upstream",
}

# The ratio of the machine's slowest to its fastest moments from which figures are doubtful
_UNEVEN = 1.2


def caveats(run: Run) -> list[str]:
    """Reasons to doubt all figures of a run, the most serious first."""
    return [
        *_missing(run),
        *_spoiled(run),
        *_pace(run),
        *_elsewhere(run),
        *_crowded(run),
        *_frequency(run),
    ]


def _missing(run: Run) -> Iterator[str]:
    if run.quick:
        yield "a quick run: it only shows that everything works"
    if not run.complete:
        yield f"not complete: `./just bench --resume {run.id}` continues it"
    if run.tries:
        yield (
            f"{_of(len(run.tries), 'attempt')} failed for reasons that are not the servers', "
            "and the trials were repeated"
        )


def _spoiled(run: Run) -> Iterator[str]:
    """How many measurements have a warning that spoils them, and which."""
    spoiled, kinds = spoiling(run)
    if spoiled:
        each = listed(f"{kind} ({count})" for kind, count in kinds.items())
        verb = "is" if spoiled == 1 else "are"
        yield f"{spoiled} of {_of(len(run.measurements), 'measurement')} {verb} spoiled: {each}"


def spoiling(run: Run) -> tuple[int, dict[str, int]]:
    """How many measurements have a warning that spoils them, and how many of each kind, the most
    frequent first."""
    found = [
        {one.kind for one in measured.warnings if one.severity == "spoils"}
        for measured in run.measurements
    ]
    kinds = Counter[str](sorted(kind for own in found for kind in own))
    return sum(map(bool, found)), dict(kinds.most_common())


def _pace(run: Run) -> Iterator[str]:
    """Whether the machine became slower or faster; leaves out the twentieth at each end."""
    found = [one.work for one in run.measurements if one.work]
    if not found:
        return
    low, high = np.quantile(found, [0.05, 0.95])
    if high / low >= _UNEVEN:
        yield (
            f"the machine's own speed changed: the same work took {low:.3g} to {high:.3g} ms of "
            "CPU time, so its figures are noisier than the servers are"
        )


def _elsewhere(run: Run) -> Iterator[str]:
    for name, server in run.servers.items():
        if server.address:
            far = any(one.cpu.server is None for one in run.measurements)
            unknown = "settings, versions, CPU time and memory" if far else "settings and versions"
            yield (
                f"{name} ran at {server.address}, started by its user: it was not restarted for "
                f"each trial, and its {unknown} are not known"
            )


def _crowded(run: Run) -> Iterator[str]:
    """Whether more programs and threads were busy at once than there are cores for them."""
    if run.workers or any(server.address for server in run.servers.values()):
        return  # they are not on one machine
    workers, threads = run.workload.workers, run.workload.load.threads
    if run.cpus:
        own = run.cpus.get("server", [])
        if own and workers > len(own):
            yield f"{_of(workers, 'worker')} of a server on its {_of(len(own), 'core')}"
        return
    sources = sorted(_NAMES[source] for source in run.workload.sources)
    if run.measurements and all(one.cpu.database is None for one in run.measurements):
        sources = [name for name in sources if name == "the upstream"]
    busy, cores = workers + threads + len(sources), run.machine.cores
    if busy <= cores:
        return
    programs = [f"{_of(workers, 'worker')} of a server", f"{_of(threads, 'thread')} of the load"]
    yield (
        f"{busy} busy programs on {_of(cores, 'core')}: {listed([*programs, *sources])} share "
        "them, so the numbers are of all of these together"
    )


def _frequency(run: Run) -> Iterator[str]:
    quota, _, period = run.machine.limits.get("cgroup cpu.max", "max").partition(" ")
    if quota != "max" and int(quota) < run.machine.cores * int(period):
        yield f"a control group limits CPU time to {int(quota) / int(period):.3g} cores"
    if run.machine.governor not in (None, "performance"):
        yield f"the cores' frequency may change: their governor is {run.machine.governor}"


def placement(run: Run) -> str:
    """``server on 0-2, load on 3``; empty if nothing was pinned."""
    return ", ".join(f"{role} on {as_text(cores)}" for role, cores in run.cpus.items())


def _of(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count > 1 else ''}"
