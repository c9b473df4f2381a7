"""The intervals hold what they promise, in runs with the noise of the published results."""

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from bench.analysis.blocks import Table
from bench.analysis.compact_letters import letters
from bench.analysis.estimates import ERROR, between_runs
from bench.analysis.figures import FIGURES, PLAIN, values_by_server
from bench.analysis.standings import key_of, measured_by_table, rows_of, table_of
from bench.records.result import Run
from bench.records.warning import Warning, WarningKind
from bench.workloads.workload import load_workload, workload_names
from harness.servers.catalog import find_targets
from tests import simulation
from tests.runs import SERVERS, a_run, short, verdicts
from tests.simulation import NOISE, REPEATS, SIZES, names_a_difference, outcome, simulated

pytestmark = [pytest.mark.quick, pytest.mark.timeout(600)]


@pytest.mark.parametrize("figure", NOISE)
@pytest.mark.parametrize("servers", SIZES)
def test_equal_servers_are_told_apart_in_at_most_5_percent_of_runs(
    figure: str, servers: int
) -> None:
    """All intervals hold in 95%, or in a few more: noise beyond a normal one makes the variances
    larger, that of the 99th percentile most, which differs by servers.
    """
    found = outcome(figure, servers, REPEATS)
    assert found.false <= ERROR
    assert 0.93 <= found.covered <= (0.995 if figure == "p99" else 0.985)


def test_workloads_have_as_many_repeats_as_are_simulated() -> None:
    for name in workload_names():
        workload = load_workload(name)
        if len(find_targets(tuple(workload.servers))) > 1:
            assert workload.repeats == REPEATS, name


def test_the_method_shows_what_is_simulated() -> None:
    """``python -m tests.simulation`` writes it."""
    (shown,) = simulation.MARKED.findall(simulation.PAGE.read_text(encoding="utf-8"))
    assert shown == simulation.text()


def test_missing_turns_leave_the_error() -> None:
    random = np.random.default_rng(1)
    found = []
    for logs, _ in simulated("rate", 7, REPEATS, runs=1000):
        logs[random.random(logs.shape) < 0.1] = math.nan
        table = simulation.table_of(logs)
        found.append(names_a_difference(table, [str(at) for at in range(7)]))
    assert np.mean(found) <= ERROR


def test_servers_at_the_offered_rate_lend_no_certainty_to_others() -> None:
    """A third of the servers answer what was offered, without noise; the others answer less."""
    random = np.random.default_rng(2)
    found = []
    for logs, _ in simulated("rate", 6, REPEATS, runs=1000):
        offered = np.log(2 + random.normal(0, 1e-5, (3, REPEATS)))
        alone, table = map(simulation.table_of, (logs, np.vstack([logs, offered])))
        found.append(names_a_difference(table, [str(at) for at in range(6)]))
        at_it = table.estimate("6")
        assert 1.99 < at_it.low < 2 < at_it.high < 2.01
        ratio, without = table.ratio("0", "1"), alone.ratio("0", "1")
        assert ratio
        assert without
        assert ratio.high / ratio.low > without.high / without.low, (
            "only more pairs share the error"
        )
    assert np.mean(found) <= ERROR


def test_a_noisy_server_is_compared_by_its_own_noise() -> None:
    random = np.random.default_rng(6)
    wrong, found = [], []
    for logs, _ in simulated("rate", 6, REPEATS, runs=300):
        noisy = random.normal(0, 0.5, REPEATS)
        table = simulation.table_of(np.vstack([logs, logs[0] + math.log(1.3), noisy]))
        other, pair = table.ratio("7", "0"), table.ratio("6", "1")
        assert other
        assert pair
        wrong.append(other.differs)
        found.append(pair.differs)
    assert np.mean(wrong) <= ERROR
    assert np.mean(found) >= 0.8


def test_the_ratio_between_two_runs_holds_the_truth_in_95_percent() -> None:
    held = []
    for logs, _ in simulated("rate", 2, REPEATS):
        found = between_runs(np.exp(logs[0]).tolist(), (1.2 * np.exp(logs[1])).tolist())
        assert found
        ratio = found.ratio()
        held.append(ratio.low <= 1.2 <= ratio.high)
    assert np.mean(held) >= 0.93, "more, as blocks are the same here and do not cancel"


def two_runs(count: int, factors: float | list[float]) -> Iterator[dict[str, str]]:
    """What is said of the servers of two runs; in the second, their rates have these factors."""
    runs = [short(repeats=REPEATS) for _ in range(2)]
    both = (np.ones(len(SERVERS)), np.broadcast_to(factors, len(SERVERS)))
    for logs, _ in simulated("rate", 2 * len(SERVERS), REPEATS, runs=count):
        for run, own, factor in zip(runs, np.split(logs, 2), both, strict=True):
            set_rates(run, 1000 * factor[:, None] * np.exp(own))
        yield verdicts(*runs)


@pytest.mark.parametrize("shift", [1.0, 0.6])
def test_two_runs_of_the_same_servers_differ_in_at_most_5_percent(shift: float) -> None:
    """Even if the whole machine is slower in one of them."""
    named = [bool({"better", "worse"} & {*said.values()}) for said in two_runs(300, shift)]
    assert np.mean(named) <= ERROR


def test_a_server_that_got_much_slower_is_named_and_no_other() -> None:
    """Between two runs, the intervals include the noise between blocks: small changes are lost."""
    found = []
    for said in two_runs(50, [0.5, 1, 1, 1]):
        found.append(said.pop(next(iter(SERVERS))) == "worse")
        assert not {"better", "worse"} & {*said.values()}
    assert np.mean(found) >= 0.8


def set_rates(run: Run, rates: NDArray[np.float64]) -> None:
    targets = list(run.servers)
    for one in run.measurements:
        one.rate = float(rates[targets.index(one.target), one.repeat - 1])


def test_the_rows_of_a_run_share_its_error() -> None:
    """Half of it is for the figure that ranks; each case and level has its share."""
    ((logs, _),) = simulated("rate", 4, REPEATS, runs=1)
    run = a_run(cases=("1 worker",), repeats=REPEATS)
    set_rates(run, np.exp(logs) * np.array([1000.0, 1400.0, 1410.0, 2000.0])[:, None])
    others = FIGURES.keys() - PLAIN - {"rate"}
    for level in (10, 200):
        measured = measured_by_table(run)["1 worker", level]
        rate = Table(values_by_server(measured, FIGURES["rate"]), ERROR / 2 / 2)
        cpu = Table(values_by_server(measured, FIGURES["cpu"]), ERROR / 2 / len(others) / 2)
        rows = [row for row in rows_of(run) if row.level == level]
        names = [row.target for row in rows]
        assert {row.target: row.tied for row in rows} == rate.letters(names)
        assert [row.relative for row in rows] == [rate.ratio(name, names[0]) for name in names]
        for figure, table in (("rate", rate), ("cpu", cpu)):
            assert [row.estimates[figure] for row in rows] == [*map(table.estimate, names)]
    assert len({row.tied for row in rows}) > 1
    assert {row.group for row in rows} == {row.tied for row in rows}


def test_a_noisy_server_is_too_noisy_to_rank() -> None:
    """It would share a letter with the best whatever its own figure is."""
    run = short(repeats=REPEATS)
    ((logs, _),) = simulated("rate", 4, REPEATS, runs=1)
    logs[0] += math.log(2)
    logs[3] = np.random.default_rng(3).normal(0.3, 1, REPEATS)
    set_rates(run, 1000 * np.exp(logs))
    groups = {row.target: row.group for row in rows_of(run)}
    best, second, third, noisy = run.servers
    assert groups == {best: "", second: "A", third: "A", noisy: "too noisy"}


def test_an_interval_may_end_at_infinity() -> None:
    """As where a machine was busy in one of two repeats, and the other was interrupted."""
    run = short(repeats=2)
    logs = np.random.default_rng(1).normal(0, 0.02, (len(run.servers), 2))
    logs[0, 1] = 150
    set_rates(run, 1000 * np.exp(logs))
    noisy, other, *_, cut = run.servers
    run.measurements = [one for one in run.measurements if (one.target, one.repeat) != (cut, 2)]
    rows = {row.target: row for row in rows_of(run)}
    assert rows[noisy].estimates["rate"].kind == "range"
    only = rows[cut].estimates["rate"]
    assert only.kind == "single"
    assert only.value == pytest.approx(only.values[0])
    relative = rows[other].relative
    assert relative
    assert (relative.low, relative.high) == (0, math.inf)


def test_two_levels_of_a_run_are_compared_within_its_repeats() -> None:
    """What the repeats have in common cancels."""
    run = a_run(cases=("1 worker",), repeats=REPEATS)
    ((logs, _),) = simulated("rate", 4, REPEATS, runs=1)
    set_rates(run, np.exp(logs + np.random.default_rng(4).normal(0, 1, REPEATS)))
    table = table_of(run, "rate", [("1 worker", 10), ("1 worker", 200)])
    target = next(iter(run.servers))
    ratio = table.ratio(key_of(target, "1 worker", 10), key_of(target, "1 worker", 200))
    assert ratio
    assert 0.8 < ratio.low < 1 < ratio.high < 1.25


def test_missing_turns_bias_nothing() -> None:
    """The block that one server missed was slow: its mean must not profit from that."""
    table = Table(
        {"a": {1: 100, 2: 50, 3: 101}, "b": {1: 101, 3: 100}, "c": {1: 99, 2: 50, 3: 100}}
    )
    a, b = table.estimate("a"), table.estimate("b")
    assert b.value == pytest.approx(a.value, rel=0.02)
    assert b.high / b.low > a.high / a.low, "fewer turns know less"
    assert set(table.letters(["a", "b", "c"]).values()) == {"A"}


def test_a_block_that_only_servers_at_the_offered_rate_have_changes_nothing() -> None:
    moving = {"a": {1: 10, 2: 11, 3: 10.5}, "b": {1: 12, 2: 13, 3: 12.6}}
    held = dict.fromkeys((1, 2, 3), 20.0)
    one, other = (Table(moving | {"held": of}).estimate("a") for of in (held, held | {4: 20.0}))
    assert one.kind == other.kind == "interval"
    assert (other.low, other.high) == pytest.approx((one.low, one.high))


def test_servers_that_no_block_connects_are_not_told_apart() -> None:
    table = Table(
        {"a": {1: 10, 2: 10.1}, "b": {1: 10, 2: 10}, "c": {3: 99, 4: 98}, "d": {3: 99, 4: 99}}
    )
    assert table.ratio("a", "c") is None
    assert table.ratio("a", "b")
    assert table.letters(["a", "b", "c", "d"])["a"] == "A"


@pytest.mark.parametrize("values", [[5.0, 5.1], [1.0, 2, 3, 4, 5]])
def test_a_server_alone_has_an_interval_of_its_own_repeats(values: list[float]) -> None:
    found = Table({"alone": dict(enumerate(values))}).estimate("alone")
    logs = np.log(values)
    half = t.isf(ERROR / 2, len(values) - 1) * logs.std(ddof=1) / math.sqrt(len(values))
    assert found.kind == "interval"
    assert found.value == pytest.approx(math.exp(logs.mean()))
    assert found.high == pytest.approx(math.exp(logs.mean() + half))


def test_single_repeats_name_no_difference() -> None:
    table = Table({"a": {1: 10}, "b": {1: 1000}})
    assert table.letters(["b", "a"]) == {"a": "A", "b": "A"}
    assert table.ratio("a", "b") is None
    assert table.estimate("a").kind == "single"


@pytest.mark.parametrize(
    ("kind", "groups"), [("at-least", ["A", "B", "A B", ""]), ("never-level", [""] * 4)]
)
def test_a_rate_at_which_the_search_ended_is_a_lower_bound(
    kind: WarningKind, groups: list[str]
) -> None:
    """It is not called worse than any, but better than what is below it."""
    run = short(repeats=3)
    set_rates(run, np.array([[rate] * 3 for rate in (1000.0, 800, 600, 400)]))
    for one in run.measurements:
        if one.target == list(run.servers)[2]:
            one.warnings = [Warning.of(kind, least=1.0, seconds=60.0)]
    assert [row.group for row in rows_of(run)] == groups


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
