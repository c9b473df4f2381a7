"""The published results: ``results/reference/MACHINE/WORKLOAD.json.gz``, in the repository."""

import gzip
import re
from functools import cache
from pathlib import Path

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
    """A result as compressed JSON; the same result always gives the same bytes."""
    return gzip.compress(run.model_dump_json(indent=1).encode(), compresslevel=9, mtime=0)


def all_published() -> list[Run]:
    """Every published result, by machine and workload."""
    return [read(path) for path in sorted(REFERENCE.glob("*/*.json.gz"))]


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
            "`just submit RESULT` adds one"
        )
    return read(path)
