"""The intervals hold what they promise, in simulated runs.

The noise is log-normal, 3% within a block, for all servers alike, and 10% between blocks. Published
results have 4 to 6%, which differ from server to server: docs/method.md says what follows.
"""

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import nct, studentized_range

from bench.analysis.blocks import Table
from bench.analysis.compact_letters import letters
from bench.analysis.compare import changes
from bench.analysis.estimates import ERROR, alone, between_runs
from bench.analysis.figures import rows_of
from bench.records.result import Run
from bench.workloads.workload import load_workload, workload_names
from harness.servers.catalog import find_targets
from tests.runs import a_run

pytestmark = pytest.mark.quick

RUNS = 2_000
WITHIN, BETWEEN = 0.03, 0.10
REPEATS = load_workload("text").repeats
TABLES = len(load_workload("text").load.levels)


def simulated(
    rates: list[float], repeats: int = REPEATS, runs: int = RUNS, missing: float = 0
) -> Iterator[dict[str, dict[int, float]]]:
    """Runs of servers with these rates, without some of the turns."""
    random = np.random.default_rng(12)
    for _ in range(runs):
        values = noisy(random, rates, repeats)
        kept = random.random(values.shape) >= missing
        kept[:, 0] = True
        yield {
            f"s{at}": {block + 1: value for block, value in enumerate(row) if kept[at, block]}
            for at, row in enumerate(values.tolist())
        }


def noisy(random: np.random.Generator, rates: list[float], repeats: int) -> NDArray[np.float64]:
    within = random.normal(0, WITHIN, (len(rates), repeats))
    values = np.exp(within + random.normal(0, BETWEEN, repeats)) * np.array(rates)[:, None]
    return np.asarray(values, dtype=np.float64)


def names_a_difference(table: Table, names: list[str]) -> bool:
    return set(table.letters(names).values()) != {"A"}


@pytest.mark.parametrize(("servers", "missing"), [(2, 0), (6, 0), (6, 0.1), (25, 0)])
def test_equal_servers_are_told_apart_in_at_most_5_percent_of_runs(
    servers: int, missing: float
) -> None:
    found = [
        names_a_difference(Table(values), list(values))
        for values in simulated([1000.0] * servers, missing=missing)
    ]
    assert np.mean(found) <= ERROR


@pytest.mark.parametrize("servers", [6, 25])
def test_a_difference_of_10_percent_is_found_in_80_percent_of_runs(servers: int) -> None:
    rates = [1000.0] * (servers - 1) + [1100.0]
    found = []
    for values in simulated(rates, runs=1000):
        ratio = Table(values, ERROR / TABLES).ratio(f"s{servers - 1}", "s0")
        assert ratio
        found.append(ratio.low > 1)
    assert np.mean(found) >= 0.8


@pytest.mark.parametrize("name", workload_names())
def test_the_default_repeats_of_a_workload_find_a_difference_of_10_percent(name: str) -> None:
    workload = load_workload(name)
    servers = len(find_targets(tuple(workload.servers)))
    tables = len(workload.case) * len(workload.load.levels)
    if servers > 1:
        assert power(servers, workload.repeats, tables) >= 0.8


def power(servers: int, repeats: int, tables: int) -> float:
    """The chance that a given pair of servers with a difference of 10% is told apart."""
    freedom = (servers - 1) * (repeats - 1)
    critical = studentized_range.isf(0.8 * ERROR / tables, servers, freedom) / math.sqrt(2)
    shift = math.log(1.1) / (WITHIN * math.sqrt(2 / repeats))
    return float(nct.sf(critical, freedom, shift))


@pytest.mark.parametrize(("servers", "missing"), [(2, 0), (6, 0), (6, 0.1)])
def test_the_ratios_of_all_pairs_hold_the_truth_in_95_percent_of_runs(
    servers: int, missing: float
) -> None:
    """For two servers, this is the coverage of a single ratio."""
    rates = [1000.0 * 1.05**at for at in range(servers)]
    held = []
    for values in simulated(rates, missing=missing):
        table = Table(values)
        ratios = [
            (table.ratio(f"s{one}", f"s{other}"), rates[one] / rates[other])
            for one, other in combinations(range(servers), 2)
        ]
        held.append(all(ratio and ratio.low <= truth <= ratio.high for ratio, truth in ratios))
    assert 0.93 <= np.mean(held) <= 0.97


def test_a_servers_own_interval_holds_its_mean_over_the_blocks() -> None:
    random = np.random.default_rng(5)
    held = []
    for _ in range(RUNS):
        blocks = np.exp(random.normal(0, BETWEEN, REPEATS))
        within = np.exp(random.normal(0, WITHIN, (6, REPEATS)))
        table = Table({str(at): dict(enumerate(row)) for at, row in enumerate(within * blocks)})
        truth = float(np.exp(np.log(blocks).mean()))
        found = [table.estimate(str(at)) for at in range(6)]
        assert {one.kind for one in found} <= {"interval", "range"}
        held.append(all(one.low <= truth <= one.high for one in found if one.kind == "interval"))
    assert 0.93 <= np.mean(held) <= 0.97


def test_a_noisy_server_is_compared_by_its_own_noise() -> None:
    random = np.random.default_rng(6)
    wrong, found = [], []
    for values in simulated([1000.0] * 5 + [1100.0], runs=500):
        values["noisy"] = {block: 1000 * math.exp(random.normal(0, 0.5)) for block in values["s0"]}
        table = Table(values)
        other, pair = table.ratio("noisy", "s0"), table.ratio("s5", "s0")
        assert other
        assert pair
        wrong.append(other.differs)
        found.append(pair.differs)
    assert np.mean(wrong) <= ERROR
    assert np.mean(found) >= 0.8


def test_the_ratio_between_two_runs_holds_the_truth_in_95_percent() -> None:
    held = []
    for values in simulated([1000.0], repeats=2 * REPEATS):
        repeats = list(values["s0"].values())
        ratio = between_runs(repeats[:REPEATS], [1.2 * value for value in repeats[REPEATS:]])
        assert ratio
        held.append(ratio.low <= 1.2 <= ratio.high)
    assert 0.93 <= np.mean(held) <= 0.97


@pytest.mark.parametrize("shift", [1.0, 0.6])
def test_two_runs_of_the_same_servers_differ_in_at_most_5_percent(shift: float) -> None:
    """Even if the whole machine is slower in one of them."""
    runs = [a_run(levels=(10,), cases=("1 worker",), repeats=REPEATS) for _ in range(2)]
    random = np.random.default_rng(7)
    named = []
    for _ in range(400):
        for run, factor in zip(runs, (1, shift), strict=True):
            set_rates(run, factor * noisy(random, [1000.0] * len(run.servers), REPEATS))
        verdicts = {
            change.verdict for change in changes(runs[0], runs[1]) if change.figure == "rate"
        }
        named.append(bool(verdicts & {"better", "worse"}))
    assert np.mean(named) <= ERROR


def test_a_server_that_got_much_slower_is_named_and_no_other() -> None:
    """Between two runs, the intervals include the noise between blocks: small changes are lost."""
    runs = [a_run(levels=(10,), cases=("1 worker",), repeats=REPEATS) for _ in range(2)]
    random = np.random.default_rng(10)
    slower, *others = runs[0].servers
    found = []
    for _ in range(50):
        for run, factor in zip(runs, (1.0, 0.5), strict=True):
            set_rates(run, noisy(random, [factor * 1000, 1000.0, 1000.0, 1000.0], REPEATS))
        verdicts = {
            one.target: one.verdict for one in changes(runs[0], runs[1]) if one.figure == "rate"
        }
        found.append(verdicts[slower] == "worse")
        assert not {verdicts[other] for other in others} & {"better", "worse"}
    assert np.mean(found) >= 0.8


def set_rates(run: Run, rates: NDArray[np.float64]) -> None:
    targets = list(run.servers)
    for one in run.measurements:
        one.rate = float(rates[targets.index(one.target), one.repeat - 1])


def test_the_rows_of_a_run_share_its_error() -> None:
    """The letters are those of the model, with the error divided by the number of tables."""
    random = np.random.default_rng(8)
    run = a_run(cases=("1 worker",), repeats=REPEATS)
    rates = noisy(random, [1000.0, 1080.0, 1100.0, 1200.0], REPEATS)
    set_rates(run, rates)
    values = {
        target: dict(enumerate(row, 1)) for target, row in zip(run.servers, rates, strict=True)
    }
    for level in (10, 200):
        rows = [row for row in rows_of(run) if row.level == level]
        table = Table(values, ERROR / 2)
        assert {row.target: row.tied for row in rows} == table.letters([row.target for row in rows])
        assert [row.estimates["rate"] for row in rows] == [
            table.estimate(row.target) for row in rows
        ]
        assert [row.relative for row in rows] == [
            table.ratio(row.target, rows[0].target) for row in rows
        ]
    assert len({row.tied for row in rows}) > 1


def test_missing_turns_bias_nothing() -> None:
    """The block that one server missed was slow: its mean must not profit from that."""
    table = Table(
        {"a": {1: 100, 2: 50, 3: 101}, "b": {1: 101, 3: 100}, "c": {1: 99, 2: 50, 3: 100}}
    )
    a, b = table.estimate("a"), table.estimate("b")
    assert b.value == pytest.approx(a.value, rel=0.02)
    assert b.high / b.low > a.high / a.low, "fewer turns know less"
    assert set(table.letters(["a", "b", "c"]).values()) == {"A"}


def test_servers_that_no_block_connects_are_not_told_apart() -> None:
    table = Table(
        {"a": {1: 10, 2: 10.1}, "b": {1: 10, 2: 10}, "c": {3: 99, 4: 98}, "d": {3: 99, 4: 99}}
    )
    assert table.ratio("a", "c") is None
    assert table.ratio("a", "b")
    assert table.letters(["a", "b", "c", "d"])["a"] == "A"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([5.0], "single"),
        ([5.0, 6.0], "range"),
        ([1.0, 2, 3, 4, 5], "range"),
        ([1.0, 2, 3, 4, 5, 6], "interval"),
    ],
)
def test_a_server_alone_has_an_interval_from_six_repeats_on(values: list[float], kind: str) -> None:
    table = Table({"alone": dict(enumerate(values))}, ERROR)
    for found in (alone(values), table.estimate("alone")):
        assert (found.low, found.high, found.kind) == (values[0], values[-1], kind)


def test_single_repeats_name_no_difference() -> None:
    table = Table({"a": {1: 10}, "b": {1: 1000}})
    assert table.letters(["b", "a"]) == {"a": "A", "b": "A"}
    assert table.ratio("a", "b") is None
    assert table.estimate("a").kind == "single"


def test_what_is_over_the_timeout_is_worse_than_what_never_is() -> None:
    fast = {1: 10.0, 2: 11, 3: 12, 4: 10, 5: 11}
    near = {block: value * 1.01 for block, value in fast.items()}
    over = dict.fromkeys(fast, math.inf)
    once = fast | {3: math.inf}
    values = {"fast": fast, "near": near, "once": once, "over": over, "also": over}
    table = Table(values, most=5000)
    tied = {name: set(found.split()) for name, found in table.letters(list(values)).items()}
    assert not tied["fast"] & tied["over"]
    assert tied["also"] & tied["over"]
    assert tied["once"] & tied["fast"], "one bad repeat of five proves nothing"
    assert table.estimate("over").value == math.inf
    assert table.estimate("once").kind == "range"
    zero = Table({"none": dict.fromkeys(fast, 0.0), "fast": fast, "near": near})
    assert zero.estimate("none").value == 0
    assert zero.letters(["fast", "none"])["none"] == ""


def test_letters_are_shared_if_and_only_if_servers_do_not_differ() -> None:
    random = np.random.default_rng(9)
    names = [f"s{at}" for at in range(9)]
    for share in (0, 0.2, 0.5, 0.8, 1) * 10:
        apart = {frozenset(pair): random.random() < share for pair in combinations(names, 2)}
        found = letters(names, lambda one, other, apart=apart: apart[frozenset((one, other))])  # type: ignore[misc]
        for pair in combinations(names, 2):
            common = set(found[pair[0]].split()) & set(found[pair[1]].split())
            assert bool(common) != apart[frozenset(pair)]
