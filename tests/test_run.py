"""A run: the order of its trials, failures that are not a server's, and the machine."""

import resource
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pymongo.errors import OperationFailure

from bench.analysis.caveats import caveats
from bench.generators.interface import TransientError
from bench.measuring import machine
from bench.measuring.cores import default, parse
from bench.measuring.pace import work
from bench.measuring.responses import WrongAnswer
from bench.measuring.runner import measure_all, require_unchanged
from bench.measuring.schedule import Trial, trials
from bench.measuring.source_audit import Source
from bench.measuring.trial import RunContext
from bench.records import store
from bench.records.measurement import Measurement
from bench.records.result import Run
from bench.workloads.load import Load
from bench.workloads.workload import Case, load_workload
from harness.errors import TaskError, UsageError
from harness.servers.catalog import Target, find_targets
from harness.services import Services
from harness.system.processes import raise_limits
from tests import runs

pytestmark = pytest.mark.quick

TARGETS = ("flask/gevent", "flask/gunicorn", "tornado/tornado")


@pytest.fixture
def targets() -> list[Target]:
    return find_targets(TARGETS)


def test_each_repeat_is_a_block_in_an_order_that_the_seed_decides() -> None:
    targets = find_targets(("aiohttp/gunicorn", "flask/gunicorn", "tornado/tornado"))
    cases = [Case(name=name, settings={"WORKERS": name}) for name in ("1", "2")]
    load = Load(model="closed", levels=[10, 100], duration=10)
    update = {"case": cases, "load": load, "repeats": 4}
    plan = load_workload("text").model_copy(update=update)
    made = trials(plan, targets, seed=7)
    blocks = [[trial.key[:3] for trial in made if trial.repeat == at] for at in (1, 2, 3, 4)]
    assert [trial.repeat for trial in made] == sorted(trial.repeat for trial in made)
    assert [trial.order for trial in made] == list(range(1, len(made) + 1))
    assert all(Counter(block) == Counter(blocks[0]) for block in blocks)
    assert len({tuple(block) for block in blocks}) == 4, "each block has an order of its own"
    levels = {tuple(dict.fromkeys(key[1:] for key in block)) for block in blocks}
    assert len(levels) > 1, "levels are shuffled too"
    for block in blocks:
        rivals = [{key[1:] for key in block[at : at + 3]} for at in range(0, len(block), 3)]
        assert all(len(pair) == 1 for pair in rivals), "those that are compared run side by side"
    again = trials(plan, list(reversed(targets)), seed=7)
    assert [trial.key for trial in again] == [trial.key for trial in made]
    assert [trial.key for trial in trials(plan, targets, seed=8)] != [trial.key for trial in made]


@pytest.fixture
def attempt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, targets: list[Target]) -> Any:
    """Run two repeats of one case and level, or resume a run.

    ``ends`` has the errors of a server's attempts, one after the other.
    """
    monkeypatch.setattr(store, "RESULTS", tmp_path)
    monkeypatch.setattr("bench.measuring.runner._PAUSE", 0)

    def run(ends: dict[str, list[Exception | None]], made: Run | None = None) -> Any:
        asked: list[tuple[str, int]] = []

        def measure(trial: Trial, _: RunContext) -> Measurement:
            asked.append((trial.target.name, trial.repeat))
            mine = ends.get(trial.target.name, [])
            if mine and (error := mine.pop(0)):
                raise error
            own = runs.measurement(trial.target.name, "1 worker", 10, trial.repeat, 100)
            return own.model_copy(update={"order": trial.order})

        monkeypatch.setattr("bench.measuring.runner.measure", measure)
        if not made:
            made = runs.short(repeats=2, complete=False)
            made.measurements, made.failures = [], []
        context = RunContext(made.workload, Services("", "", ""), tmp_path, ["/index"])
        measure_all(made, targets, context, lambda *_: None)
        assert store.read(tmp_path / f"{made.id}.json") == made
        return made, asked

    return run


def test_a_run_is_resumed_only_at_its_commit(targets: list[Target]) -> None:
    stopped = runs.a_run(complete=False)
    stopped.machine = machine.describe().model_copy(update={"boot": "an earlier one"})
    with pytest.raises(UsageError, match="another machine, or it was restarted"):
        require_unchanged(stopped, targets)
    stopped.machine = machine.describe()
    with pytest.raises(UsageError, match="began at commit 0123456789abcdef, and this is "):
        require_unchanged(stopped, targets)
    stopped.project = machine.commit()
    with pytest.raises(UsageError, match="or the suite has changed since"):
        require_unchanged(stopped, targets)


TORNADO = "tornado/tornado"
PORT = TransientError("a port")


@pytest.mark.parametrize(
    ("ends", "measured", "failures", "tries"),
    [
        ([PORT, PORT, None], 6, [], 2),
        ([TaskError("it ended")], 5, ["it ended"], 0),
        ([*[PORT] * 3, WrongAnswer("wrong")], 4, ["wrong"], 2),
    ],
    ids=["not the server's", "the server's own", "a wrong answer"],
)
def test_a_failure_is_tried_again_unless_it_is_the_server_s(
    attempt: Any, ends: list[Exception | None], measured: int, failures: list[str], tries: int
) -> None:
    """After a wrong answer, none of the server's measurements is kept."""
    made, asked = attempt({TORNADO: ends})
    assert made.complete
    assert len(made.measurements) == measured
    assert [one.why for one in made.failures] == failures
    assert [one.why for one in made.tries] == ["a port"] * tries
    assert asked.count((TORNADO, 1)) == tries + 1


def test_a_trial_without_a_figure_leaves_the_run_incomplete_until_it_is_resumed(
    attempt: Any,
) -> None:
    made, _ = attempt({TORNADO: [TransientError(str(at)) for at in range(3)]})
    assert not made.complete
    assert [(one.repeat, one.why, one.own) for one in made.failures] == [(1, "2", False)]
    assert any("not complete" in caveat for caveat in caveats(made))
    made, asked = attempt({}, made)
    assert asked == [(TORNADO, 1)]
    assert made.complete
    assert made.failures == []
    assert len({one.order for one in made.measurements}) == 6


def test_a_run_stops_when_nothing_can_be_measured(attempt: Any) -> None:
    with pytest.raises(TaskError, match=r"3 trials in a row .*\ndown\nfix the cause, then `./just"):
        attempt({name: [TransientError("down")] * 9 for name in TARGETS})


@pytest.mark.parametrize(
    ("costs", "ended", "good", "sequences", "least"),
    [
        ([1], 100, 90, 8, 90),
        ([2, 2], 100, 90, 1, 180),
        ([0, 1], 100, 100, 0, 50),
        ([0, 1], 100, 50, 0, 0),
        ([0, 1], 100, 60, 0, 10),
        ([0, 1], 100, 100, 8, 42),
        ([0, 1, 2], 90, 60, 0, 30),
    ],
)
def test_failures_may_all_be_on_the_paths_that_use_a_source(
    costs: list[int], ended: int, good: int, sequences: int, least: int
) -> None:
    source = Source("mongodb", "", lambda: 0, costs)
    assert source.least(ended, good, sequences) == least


@pytest.mark.parametrize(
    ("why", "error", "message"),
    [
        (ConnectionRefusedError("gone"), TransientError, "mongodb cannot be reached: gone"),
        (OperationFailure("denied", code=13), UsageError, "MONGODB_URL needs the role cluster"),
    ],
)
def test_a_source_that_cannot_be_read_is_not_the_server_s_failure(
    why: Exception, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Source("mongodb", "", Mock(side_effect=why), [1]).count()


@pytest.mark.parametrize(
    ("hard", "limit"), [(1_073_741_816, 64_000), (resource.RLIM_INFINITY, 64_000), (4096, 4096)]
)
def test_servers_do_not_inherit_a_huge_limit_of_open_files(
    monkeypatch: pytest.MonkeyPatch, hard: int, limit: int
) -> None:
    """Some allocate memory for each file that they may open."""
    was_set: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: was_set.append(limits))
    raise_limits()
    assert was_set == [(limit, hard)]


@pytest.mark.parametrize(
    ("count", "sources", "workers", "cores"),
    [
        (1, True, 1, {}),
        (2, False, 1, {"server": [0], "load": [1]}),
        (2, True, 1, {"server": [0], "load": [1], "database": [1]}),
        (2, True, 2, {}),
        (3, True, 2, {"server": [0, 1], "load": [2], "database": [2]}),
        (4, False, 1, {"server": [0, 1, 2], "load": [3]}),
        (4, True, 16, {"server": [0, 1], "load": [3], "database": [2]}),
        (8, True, 1, {"server": [0, 1, 2, 3], "load": [6, 7], "database": [4, 5]}),
    ],
)
def test_cores_are_divided_where_there_are_enough(
    count: int, sources: bool, workers: int, cores: dict[str, list[int]]
) -> None:
    assert default(range(count), sources=sources, workers=workers) == cores


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("server", "'server' is not of the form server=0-2"),
        ("disk=1", "'disk=1' is not of the form"),
        ("load=1 load=2", "load is set twice"),
        ("load=2-1", "2-1: this machine's cores are 0-7"),
        ("load=7-8", "7-8: this machine's cores are 0-7"),
    ],
)
def test_wrong_cores_are_refused(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.measuring.cores.available", lambda: list(range(8)))
    assert parse(["server=0-2,5", "load=3"]) == {"server": [0, 1, 2, 5], "load": [3]}
    with pytest.raises(UsageError, match=message):
        parse(text.split())


def test_connections_beyond_the_limit_of_open_files_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.measuring.machine.resource.getrlimit", lambda _: (1024, 1024))
    machine.require_files(Load(model="closed", levels=[900], duration=1))
    with pytest.raises(UsageError, match=r"5000 connections need 5100 .* limit is 1024"):
        machine.require_files(Load(model="closed", levels=[10, 5000], duration=1))


def test_the_governors_of_all_cores_are_told(tmp_path: Path) -> None:
    assert machine.governors(tmp_path) is None
    for core, name in enumerate(["powersave", "performance", "performance"]):
        folder = tmp_path / f"cpu{core}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{name}\n")
    assert machine.governors(tmp_path) == "performance, powersave"


def test_a_run_says_when_the_machine_became_slower() -> None:
    made = runs.a_run(cases=("1 worker",))

    def said(*paces: tuple[int, float | None]) -> list[str]:
        works = [ms for count, ms in paces for _ in range(count)]
        for one, ms in zip(made.measurements, works, strict=True):
            one.work = ms
        return [caveat for caveat in caveats(made) if "speed" in caveat]

    (changed,) = said((12, 8.0), (12, 9.7))
    assert "the same work took 8 to 9.7 ms of CPU time" in changed
    assert said((12, 8.0), (12, 9.5)) == []
    assert said((23, 8.0), (1, 80.0)) == [], "a single slow moment"
    assert said((24, None)) == []


def test_the_pace_is_the_median_of_several_rounds() -> None:
    times = iter([0, 0.5, *(at + round for at in range(1, 9) for round in (0, 0.004))])
    assert work(lambda: next(times)) == pytest.approx(4)
    assert next(times, None) is None
    assert 0.5 < work() < 500


def test_a_run_says_when_too_few_cores_are_shared() -> None:
    made = runs.a_run()
    (spoiled,) = caveats(runs.a_run(cases=("1 worker",)))
    assert spoiled == "6 of 24 measurements are spoiled: busy (6)"
    crowded = " ".join(caveats(made))
    assert "3 busy programs on 2 cores: 2 workers of a server and 1 thread" in crowded
    pins = made.model_copy(update={"cpus": {"server": [0], "load": [1]}})
    assert "2 workers of a server on its 1 core" in caveats(pins)
