"""Simulates runs with the noise of the published results, and judges them by the intervals.

Each server of a simulated run is one of the published servers: its noise is drawn, with
replacement, from its own residuals in the seven general workloads. So servers differ in their
noise, and it is not normal. All servers of a run are equal: each named difference is a false one.

``python -m tests.simulation`` writes the table in docs/method.md.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import polygamma
from scipy.stats import t

from bench.analysis.blocks import Table
from bench.analysis.estimates import ERROR
from bench.analysis.figures import FIGURES, measured_by_table, values_by_server
from harness.paths import ROOT
from upkeep.reference import published

Array = NDArray[np.float64]

MACHINE = "amd-epyc-turin-2-cores"
WORKLOADS = ("text", "json", "mongo-small", "agents", "files")
NOISE = ("rate", "cpu", "p99")
DESIGNS = ((33, 10), (7, 10), (3, 10))
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


def table_of(logs: Array, error: float = ERROR) -> Table:
    """The product's table of a simulated run."""
    rows = np.exp(logs).tolist()
    return Table({str(at): dict(enumerate(row)) for at, row in enumerate(rows)}, error)


def deviations(logs: Array) -> tuple[Array, Array, Array, Array]:
    """The standard errors and degrees of freedom of servers, and of pairs: written again, for whole
    tables."""
    servers, blocks = logs.shape
    total = (servers - 1) * (blocks - 1)
    centred = logs - logs.mean(axis=1, keepdims=True)
    weights = np.full(servers, 1 / servers)
    for _ in range(4):
        squares = ((centred - weights @ centred) ** 2).sum(axis=1)
        freedom = (blocks - 1) * (1 - weights)
        found = squares / freedom
        middle = np.minimum(found, 4 * np.median(found)).mean()
        spread = np.log(found).var(ddof=1) - polygamma(1, freedom / 2).mean()
        half = 5e5
        if spread > 2e-6:  # Newton's method on the inverse, as in the appendix of Smyth
            half = 0.5 + 1 / spread
            for _ in range(8):
                third = polygamma(1, half)
                half += third * (1 - third / spread) / polygamma(2, half)
        noise = (2 * half * middle + squares) / (2 * half + freedom)
        weights = 1 / noise / np.sum(1 / noise)
    own = np.minimum(2 * half + freedom, total)
    each = noise / blocks
    one, other = np.triu_indices(servers, 1)
    both = each[one] + each[other]
    pairs = both**2 / (each[one] ** 2 / own[one] + each[other] ** 2 / own[other])
    return np.sqrt(each), own, np.sqrt(both), np.minimum(pairs, total)


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
    one, other = np.triu_indices(servers, 1)
    tail = ERROR / (servers * (servers + 1))  # of one side
    for logs, truth in simulated(figure, servers, repeats):
        means = logs.mean(axis=1)
        own, own_freedom, pairs, freedom = deviations(logs)
        apart = (means[one] - means[other]) / pairs
        right = np.all(np.abs(apart) <= t.isf(tail, freedom))
        right &= np.all(np.abs(means - truth) <= t.isf(tail, own_freedom) * own)
        covered.append(bool(right))
        false.append(set(table_of(logs).letters(names).values()) != {"A"})
        power.append(np.mean(apart + DIFFERENCE / pairs > t.isf(tail / 2, freedom)))
    return Outcome(*(float(np.mean(of)) for of in (false, covered, power)))


def rows() -> Iterator[str]:
    """The table, in Markdown."""
    kinds = [f"{FIGURES[figure].title}" for figure in NOISE]
    yield "| Servers | Repeats | Noise of | Names a difference | All intervals hold | Finds 10% |"
    yield "| ---: | ---: | --- | ---: | ---: | ---: |"
    cells = [(figure, *design) for design in DESIGNS for figure in NOISE]
    cells += [("rate", DESIGNS[0][0], repeats) for repeats in OTHER_REPEATS]
    for figure, servers, repeats in cells:
        found = outcome(figure, servers, repeats)
        shares = (found.false, found.covered, found.power)
        yield (
            f"| {servers} | {repeats} | {kinds[NOISE.index(figure)]} | "
            f"{' | '.join(f'{100 * share:.1f}%' for share in shares)} |"
        )


def text() -> str:
    """What stands in the page between the marks."""
    return "".join(f"{row}\n" for row in rows())


if __name__ == "__main__":
    table = text()
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARKED.sub(lambda _: table, page), encoding="utf-8")
