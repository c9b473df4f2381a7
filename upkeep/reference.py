"""The published results: ``results/reference/MACHINE/WORKLOAD.json.gz``, in the repository."""

import gzip
import re
from functools import cache
from pathlib import Path

from bench.analysis.standings import Row, measured_by_table, rows_of
from bench.records.histogram import merged
from bench.records.result import Machine, Run
from bench.records.store import RESULTS, read
from harness.errors import UsageError

REFERENCE = RESULTS / "reference"


def place_of(run: Run, machine: str) -> Path:
    """The file of a published result. A newer one replaces it, so that texts can refer to it."""
    return REFERENCE / machine / f"{run.workload_name}.json.gz"


def name_of(machine: Machine) -> str:
    """A name for a machine, from its CPU and number of cores: ``amd-epyc-7763-4-cores``."""
    words = re.sub(r"\(\w+\)|\bCPU\b|\bProcessor\b|@.*", " ", machine.cpu)
    cores = f"{machine.cores} {'core' if machine.cores == 1 else 'cores'}"
    return re.sub(r"[^a-z0-9]+", "-", f"{words} {cores}".lower()).strip("-")


def pack(run: Run) -> bytes:
    """A result as compressed JSON; the same result always gives the same bytes.

    Histograms take most room: the first repeat of a server, case and level gets the sum of all, to
    two significant digits. They only draw curves: the percentiles beside them are as measured.
    """
    run = run.model_copy(deep=True)
    for repeats in (one for table in measured_by_table(run).values() for one in table.values()):
        whole = merged(one.histogram for one in repeats)
        for one in repeats:
            one.output = one.output.replace(one.histogram, "")
            one.histogram = whole.rounded().encoded() if one is repeats[0] and len(whole) else ""
    return gzip.compress(run.model_dump_json(indent=1).encode(), compresslevel=9, mtime=0)


def all_published() -> list[Run]:
    """Every published result, by machine and workload."""
    return [read(path) for path in sorted(REFERENCE.glob("*/*.json.gz"))]


def workloads_of(machine: str) -> list[str]:
    """The names of a machine's published results."""
    found = sorted((REFERENCE / machine).glob("*.json.gz"))
    if not found:
        raise UsageError(f"there is no published result of {machine!r}")
    return [one.name.removesuffix(".json.gz") for one in found]


@cache
def published(name: str) -> Run:
    """The published result ``MACHINE/WORKLOAD``."""
    path = REFERENCE / f"{name}.json.gz"
    if not path.is_file():
        known = sorted(
            f"{one.parent.name}/{one.name.removesuffix('.json.gz')}"
            for one in REFERENCE.glob("*/*.json.gz")
        )
        raise UsageError(
            f"there is no published result {name!r}, only {', '.join(known) or 'none'}: "
            "`./just submit RESULT` adds one"
        )
    return read(path)


@cache
def published_rows(name: str) -> list[Row]:
    """All rows of the published result ``MACHINE/WORKLOAD``."""
    return rows_of(published(name))
