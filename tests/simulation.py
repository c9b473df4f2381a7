"""Simulates runs with the noise of the published results, and judges them by the intervals.

Each server of a simulated run is one of the published servers: its noise is drawn, with
replacement, from its own residuals in five general workloads. So servers differ in their
noise, and it is not normal. All servers of a run are equal: each named difference is a false one.

``python -m tests.simulation`` writes the table in docs/method.md.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from bench.analysis.blocks import Table
from bench.analysis.estimates import ERROR
from bench.analysis.figures import FIGURES, values_by_server
from bench.analysis.standings import measured_by_table
from harness.paths import ROOT
from upkeep.reference import published

Array = NDArray[np.float64]

MACHINE = "amd-epyc-turin-2-cores"
WORKLOADS = ("text", "json", "mongo-small", "agents", "files")
NOISE = ("rate", "cpu", "p99")
SIZES = (33, 7, 3)
REPEATS = 10
OTHER_REPEATS = (5, 15)
RUNS = 1_000
# The standard deviation of what a block has in common
BLOCKS = 0.05
DIFFERENCE = math.log(1.1)
STILL = 0.001
PAGE = ROOT / "docs" / "method.md"
MARKED = re.compile(r"(?<=<!-- simulated -->\n).*?(?=<!-- /simulated -->)", re.S)


@cache
def residuals(figure: str) -> list[Array]:
    """Of each published server, over all workloads; without those that something else holds."""
    found: dict[str, list[Array]] = {}
    for workload in WORKLOADS:
        run = published(f"{MACHINE}/{workload}")
        for measured in measured_by_table(run).values():
            values = values_by_server(measured, FIGURES[figure])
            most = max(len(of) for of in values.values())
            logs = {
                target: np.log(list(of.values()))
                for target, of in values.items()
                if len(of) == most and all(0 < value < math.inf for value in of.values())
            }
            logs = {target: of for target, of in logs.items() if of.std() > STILL}
            for target, left in zip(logs, left_of(np.array(list(logs.values()))), strict=True):
                found.setdefault(target, []).append(left)
    return [np.concatenate(of) for of in found.values() if len(of) >= len(WORKLOADS) / 2]


def left_of(logs: Array) -> Array:
    """What is left without servers and blocks, as wide as the noise is: least squares takes up
    some of it."""
    servers, blocks = logs.shape
    left = logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=0) + logs.mean()
    wider: Array = left * math.sqrt(blocks / (blocks - 1) * servers / (servers - 1))
    return wider


def simulated(
    figure: str, servers: int, repeats: int, runs: int = RUNS
) -> Iterator[tuple[Array, float]]:
    """The logarithms of runs of equal servers, by server and block, and their true mean."""
    random = np.random.default_rng(servers * repeats)
    noise = residuals(figure)
    lengths = np.array([len(of) for of in noise])
    padded = np.array([np.resize(of, lengths.max()) for of in noise])
    for _ in range(runs):
        chosen = random.permutation(max(servers, len(noise)))[:servers] % len(noise)
        drawn = random.random((servers, repeats)) * lengths[chosen, None]
        blocks = random.normal(0, BLOCKS, repeats)
        yield padded[chosen[:, None], drawn.astype(int)] + blocks, float(blocks.mean())


def table_of(logs: Array) -> Table:
    """The product's table of a simulated run; a turn that is NaN is missing."""
    rows = np.exp(logs).tolist()
    return Table(
        {
            str(at): {block: value for block, value in enumerate(row) if not math.isnan(value)}
            for at, row in enumerate(rows)
        }
    )


def names_a_difference(table: Table, names: Sequence[str]) -> bool:
    """Whether the servers do not all have the same letter."""
    return set(table.letters(names).values()) != {"A"}


@dataclass(frozen=True)
class Outcome:
    """Shares of simulated runs."""

    false: float  # Name a difference
    covered: float  # All intervals hold: of servers, and of pairs
    # Find a difference of 10% of a pair, by the figure that ranks in a run of one table
    power: float


@cache
def outcome(figure: str, servers: int, repeats: int) -> Outcome:
    """What the intervals make of simulated runs."""
    false, covered, power = [], [], []
    names = [str(at) for at in range(servers)]
    tail = ERROR / (servers * (servers + 1))  # of one side
    for logs, truth in simulated(figure, servers, repeats):
        table = table_of(logs)
        pairs = [table.difference(*pair) for pair in combinations(names, 2)]
        known = [(one.middle, one.deviation, one.freedom) for one in pairs if one]
        middle, deviation, freedom = np.array(known).T
        apart = middle / deviation
        own = all(one.low <= math.exp(truth) <= one.high for one in map(table.estimate, names))
        covered.append(own and bool(np.all(stdtr(freedom, -np.abs(apart)) >= tail)))
        false.append(names_a_difference(table, names))
        power.append(np.mean(stdtr(freedom, -apart - DIFFERENCE / deviation) < tail / 2))
    return Outcome(*(float(np.mean(of)) for of in (false, covered, power)))


def text() -> str:
    """What stands in the page between the marks: a table in Markdown."""
    lines = [
        "| Servers | Repeats | Noise of | Names a difference | All intervals hold | Finds 10% |",
        "| ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    cells = [(figure, servers, REPEATS) for servers in SIZES for figure in NOISE]
    cells += [("rate", SIZES[0], repeats) for repeats in OTHER_REPEATS]
    for figure, servers, repeats in cells:
        found = outcome(figure, servers, repeats)
        shares = " | ".join(f"{share:.1%}" for share in (found.false, found.covered, found.power))
        lines.append(f"| {servers} | {repeats} | {FIGURES[figure].title} | {shares} |")
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    table = text()
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARKED.sub(lambda _: table, page), encoding="utf-8")
