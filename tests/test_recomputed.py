"""Published tables, computed again from the raw results by code that shares none with the project.

A value is the geometric mean of a server's repeats, to two significant digits.
"""

import gzip
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ["README.md", "docs/choose.md", "docs/differences.md"]
SUMMARY = re.compile(r'<!-- {{ summary\("(\S+)", "cpu", ({.*?}).*? -->\n(.*?)\n<!-- end -->', re.S)


@cache
def measured(machine: str, workload: str) -> list[dict[str, Any]]:
    path = ROOT / "results" / "reference" / machine / f"{workload}.json.gz"
    found: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))["measurements"]
    return found


def repeats(machine: str, workload: str, level: float, target: str) -> list[float]:
    """The CPU time per request of a server in each repeat, in microseconds."""
    found = measured(machine, workload)
    own = [one for one in found if (one["target"], one["level"]) == (target, level)]
    return [1e6 * one["cpu"]["server"] / one["requests"] for one in own]


def cells(text: str) -> Iterator[tuple[str, str, float, str, str]]:
    """The machine, workload, level, deployment and text of each value of the summaries."""
    for machine, columns, table in SUMMARY.findall((ROOT / text).read_text(encoding="utf-8")):
        for line in table.splitlines()[2:]:
            server, _, *values = line.strip("|").split("|")
            name, folder = re.findall(r"\[(.*?)\]\((?:\.\./)?(.*?)\)", server)[0]
            manifest = tomllib.loads((ROOT / folder / "server.toml").read_text(encoding="utf-8"))
            target = f"{name}/{manifest['deployment'][0]['name']}"
            for (workload, level), value in zip(json.loads(columns).items(), values, strict=True):
                yield machine, workload, float(level), target, value.strip()


@pytest.mark.parametrize("text", TEXTS)
def test_the_summary_is_that_of_the_raw_results(text: str) -> None:
    shown, found = {}, {}
    for machine, workload, level, target, value in cells(text):
        times = repeats(machine, workload, level, target)
        found[target, workload] = float(f"{geometric_mean(times):.2g}") if times else None
        shown[target, workload] = float(value.replace(",", "")) if value else None
    assert len(found) >= 40
    assert found == shown


def test_the_summary_of_claims_counts_its_tables() -> None:
    told, within, shown = Counter[str](), Counter[str](), {}
    for line in (ROOT / "docs" / "claims.md").read_text(encoding="utf-8").splitlines():
        match [cell.strip(" *") for cell in line.split("|")[1:-1]]:
            case [direction, claims, size, _] if claims.isdigit():
                shown[direction] = int(claims), int(size or 0)
            case [_, _, _, _, comparable, direction, size] if comparable.startswith(("yes", "no:")):
                told[direction or "not comparable"] += 1
                within[direction or "not comparable"] += size == "within"
    assert told.total() >= 80
    assert {one: (told[one], within[one]) for one in told} == shown
