"""A run: the order of its turns, failures that are not a server's, and the machine's conditions."""

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

import spec
from bench import affinity, machine, result
from bench.affinity import confined, default, parse, pinned
from bench.answers import Contract, Sampler, WrongAnswer
from bench.caveats import caveats
from bench.conditions import conditions
from bench.disturbed import Disturbed
from bench.generators import LoadResult
from bench.measure import RunContext
from bench.plan import TimeLeft, Turn, turns
from bench.pressure import Meter
from bench.processes import Tree
from bench.result import Errors, Measurement, Pressure, Run, Sources
from bench.run import measure_all, require_unchanged
from bench.sources import Source
from bench.warnings import Usage, drift, warnings
from bench.workload import Case, Load, Workload, load_workload
from conformance.subject import Subject
from harness.errors import TaskError, UsageError
from harness.servers.catalog import Target, find_targets
from harness.services import Services
from tests import runs

pytestmark = pytest.mark.quick

TARGETS = ("flask/gevent", "flask/gunicorn", "tornado/tornado")


@pytest.fixture
def targets() -> list[Target]:
    return find_targets(TARGETS)


@pytest.fixture
def with_workers() -> list[Target]:
    return find_targets(("aiohttp/gunicorn", "flask/gunicorn", "tornado/tornado"))


def plan(repeats: int = 4) -> Workload:
    cases = [Case(name=name, settings={"WORKERS": name}) for name in ("1", "2")]
    load = Load(model="closed", levels=[10, 100], duration=10)
    update = {"case": cases, "load": load, "repeats": repeats}
    return load_workload("text").model_copy(update=update)


def test_each_repeat_is_a_block_in_an_order_that_the_seed_decides(
    with_workers: list[Target],
) -> None:
    targets = with_workers
    made = turns(plan(), targets, seed=7)
    blocks = [[turn.key[:3] for turn in made if turn.repeat == at] for at in (1, 2, 3, 4)]
    assert [turn.repeat for turn in made] == sorted(turn.repeat for turn in made)
    assert [turn.order for turn in made] == list(range(1, len(made) + 1))
    assert all(Counter(block) == Counter(blocks[0]) for block in blocks)
    assert len({tuple(block) for block in blocks}) == 4, "each block has an order of its own"
    levels = {tuple(dict.fromkeys(key[1:] for key in block)) for block in blocks}
    assert len(levels) > 1, "levels are shuffled too"
    for block in blocks:
        rivals = [{key[1:] for key in block[at : at + 3]} for at in range(0, len(block), 3)]
        assert all(len(pair) == 1 for pair in rivals), "those that are compared run side by side"
    again = turns(plan(), list(reversed(targets)), seed=7)
    assert [turn.key for turn in again] == [turn.key for turn in made]
    assert [turn.key for turn in turns(plan(), targets, seed=8)] != [turn.key for turn in made]


def test_the_time_left_follows_the_turns_so_far(targets: list[Target]) -> None:
    first, *others = turns(plan(), targets, seed=1)
    same = next(turn for turn in others if turn.key[:3] == first.key[:3])
    left = TimeLeft()
    assert left.of([first]) == first.seconds
    left.add(first, 3 * first.seconds)
    assert left.of([same]) == pytest.approx(3 * first.seconds)
    assert left.of([others[0]]) == pytest.approx(3 * others[0].seconds)


@pytest.fixture
def attempt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, targets: list[Target]
) -> Callable[..., tuple[Run, list[tuple[str, int]]]]:
    """Run two repeats; ``ends`` has the errors of a server's attempts, one after the other."""
    monkeypatch.setattr(result, "RESULTS", tmp_path)
    monkeypatch.setattr("bench.run._PAUSE", 0)

    def run(ends: dict[str, list[Exception | None]], made: Run | None = None) -> Any:
        asked: list[tuple[str, int]] = []

        def measure(turn: Turn, _: RunContext) -> Measurement:
            asked.append((turn.target.name, turn.repeat))
            mine = ends.get(turn.target.name, [])
            if mine and (error := mine.pop(0)):
                raise error
            own = runs.measurement(turn.target.name, "1 worker", 10, turn.repeat, 100)
            return own.model_copy(update={"order": turn.order})

        monkeypatch.setattr("bench.run.measure", measure)
        made = made or empty()
        context = RunContext(made.workload, Services("", "", ""), tmp_path, ["/index"])
        measure_all(made, targets, context, lambda *_: None)
        assert result.read(tmp_path / f"{made.id}.json") == made
        return made, asked

    return run


def test_a_run_is_resumed_only_at_its_commit(targets: list[Target]) -> None:
    stopped = runs.a_run(complete=False)
    stopped.machine = machine.describe()
    with pytest.raises(UsageError, match="began at commit 0123456789abcdef, and this is "):
        require_unchanged(stopped, targets)
    stopped.project = machine.commit()
    with pytest.raises(UsageError, match="or the suite has changed since"):
        require_unchanged(stopped, targets)


def empty() -> Run:
    """A run of one case and level, with two repeats and without measurements."""
    plain = runs.a_run(levels=(10,), cases=("1 worker",), repeats=2, complete=False)
    return plain.model_copy(update={"measurements": [], "failures": []})


def test_what_is_not_the_server_s_fault_is_tried_again(attempt: Any) -> None:
    made, asked = attempt({"tornado/tornado": [Disturbed("a port"), Disturbed("a port"), None]})
    assert made.complete
    assert made.failures == []
    assert [(one.target, one.why, one.own) for one in made.tries] == [
        ("tornado/tornado", "a port", False)
    ] * 2
    assert len(made.measurements) == 6
    assert Counter(asked)["tornado/tornado", 1] == 3


def test_a_turn_without_a_figure_leaves_the_run_incomplete_until_it_is_resumed(
    attempt: Any,
) -> None:
    made, _ = attempt({"tornado/tornado": [Disturbed(str(at)) for at in range(3)]})
    assert not made.complete
    assert [(one.repeat, one.why, one.own) for one in made.failures] == [(1, "2", False)]
    assert any("not complete" in caveat for caveat in caveats(made))
    made, asked = attempt({}, made)
    assert asked == [("tornado/tornado", 1)]
    assert made.complete
    assert made.failures == []
    assert len({one.order for one in made.measurements}) == 6


def test_a_server_s_own_failure_is_an_outcome(attempt: Any) -> None:
    made, asked = attempt({"tornado/tornado": [TaskError("it ended")]})
    assert made.complete
    assert [(one.why, one.own) for one in made.failures] == [("it ended", True)]
    assert made.tries == []
    assert Counter(asked)["tornado/tornado", 1] == 1


def test_a_wrong_answer_ends_a_server_s_part(attempt: Any) -> None:
    broken = [Disturbed("x")] * 3
    made, asked = attempt({"tornado/tornado": [*broken, WrongAnswer("wrong")]})
    assert made.complete
    assert [one.why for one in made.failures] == ["wrong"]
    assert "tornado/tornado" not in {one.target for one in made.measurements}
    assert asked[-1][1] == 2


def test_a_run_stops_when_nothing_can_be_measured(attempt: Any) -> None:
    with pytest.raises(TaskError, match=r"3 turns in a row .*\ndown\nmend it, then `just bench"):
        attempt({name: [Disturbed("down")] * 9 for name in TARGETS})


def source(*costs: int) -> Source:
    return Source("mongodb", "", lambda: 0, costs)


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
    assert source(*costs).least(ended, good, sequences) == least


def test_a_source_that_is_gone_is_not_the_server_s_failure() -> None:
    def refuse() -> int:
        raise ConnectionRefusedError("refused")

    with pytest.raises(Disturbed, match="mongodb cannot be reached: refused"):
        replace(source(1), read=refuse).count()


@pytest.mark.parametrize(
    ("per_second", "change"),
    [
        ([1000] * 6, None),
        ([1000, 1000, 500, 500, 1040, 1040], None),
        ([1000, 1000, 500, 500, 1100, 1100], 0.1),
        ([1000, 1000, 1000, 1000, 900, 900, 900], -0.1),
        ([1000, 1000, 1000, 900, 900], None),  # too short
        ([3, 3, 4, 4, 4, 4], None),  # too few to tell
        ([0, 0, 5, 5, 5, 5], 1.0),
        ([1000, 100, 0, 0, 0, 0], -1.0),  # nothing any more
        ([3, 3, 2, 0, 0, 0], -1.0),
        ([1, 0, 0, 0, 0, 0], None),
        ([0] * 6, None),
    ],
)
def test_a_load_is_steady_if_its_last_third_is_like_its_first(
    per_second: list[int], change: float | None
) -> None:
    found = drift(per_second)
    assert found == (None if change is None else pytest.approx(change, abs=0.001))


@pytest.mark.parametrize(
    ("count", "sources", "cores"),
    [
        (3, True, {}),
        (4, False, {"server": [0, 1, 2], "load": [3]}),
        (4, True, {"server": [0, 1], "load": [3], "database": [2]}),
        (8, True, {"server": [0, 1, 2, 3], "load": [6, 7], "database": [4, 5]}),
    ],
)
def test_cores_are_divided_where_there_are_enough(
    count: int, sources: bool, cores: dict[str, list[int]]
) -> None:
    assert default(range(count), sources=sources) == cores


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(affinity, "available", lambda: list(range(8)))


@pytest.mark.usefixtures("eight")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("server", "'server' is not of the form server=0-2"),
        ("disk=1", "'disk=1' is not of the form"),
        ("load=1 load=2", "load is set twice"),
        ("load=a", "'a' is not a list of cores such as 0,2 or 0-3"),
        ("load=2-1", "2-1: this machine's cores are 0-7"),
        ("load=7-8", "7-8: this machine's cores are 0-7"),
    ],
)
def test_wrong_cores_are_refused(text: str, message: str) -> None:
    assert parse(["server=0-2,5", "load=3"]) == {"server": [0, 1, 2, 5], "load": [3]}
    with pytest.raises(UsageError, match=message):
        parse(text.split())


@pytest.fixture
def sleeper() -> Iterator[psutil.Process]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield psutil.Process(process.pid)
        process.kill()


def test_programs_are_pinned_and_put_back(sleeper: psutil.Process) -> None:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("needs 2 cores")
    with pinned(cores[:1]), confined(Tree(sleeper), cores[1:2]):
        assert os.sched_getaffinity(0) == {cores[0]}
        assert os.sched_getaffinity(sleeper.pid) == {cores[1]}
        shown = subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout
        assert shown.strip() == "1", "what this thread starts is pinned too"
    assert sorted(os.sched_getaffinity(0)) == cores
    assert sorted(os.sched_getaffinity(sleeper.pid)) == cores


def test_connections_beyond_the_limit_of_open_files_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.machine.resource.getrlimit", lambda _: (1024, 1024))
    machine.require_files(Load(model="closed", levels=[900], duration=1))
    with pytest.raises(
        UsageError, match=r"5000 connections need 5100 open files, .* limit is 1024"
    ):
        machine.require_files(Load(model="closed", levels=[10, 5000], duration=1))
    said: list[str] = []
    monkeypatch.setattr(machine, "say", said.append)
    machine.require_files(Load(model="connection rate", levels=[300], duration=10, timeout=5))
    machine.require_files(Load(model="constant rate", levels=[4000], duration=10, timeout=30))
    assert "up to 1500 connections at once" in said[0]
    assert "up to 10000 connections at once" in said[1]


def test_the_governors_of_all_cores_are_told(tmp_path: Path) -> None:
    assert machine.governors(tmp_path) is None
    for core, name in enumerate(["powersave", "performance", "performance"]):
        folder = tmp_path / f"cpu{core}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{name}\n")
    assert machine.governors(tmp_path) == "performance on 1-2, powersave on 0"


def test_the_whole_machine_is_metered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    none = psutil.cpu_times()._replace(**dict.fromkeys(psutil.cpu_times()._fields, 0.0))
    some = none._replace(user=6.0, idle=10.0, softirq=2.0, steal=1.0, guest=1.0)
    times, clock = iter((none, some)), iter((0.0, 10.0))
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(times))
    monkeypatch.setattr(psutil, "cpu_count", lambda: 2)
    monkeypatch.setattr("bench.pressure.time.monotonic", lambda: next(clock))
    stalls = tmp_path / "cpu"
    monkeypatch.setattr("bench.pressure._STALLS", stalls)
    stalls.write_text("some avg10=1.00 avg60=1.00 avg300=1.00 total=1000000\n")
    meter = Meter()
    stalls.write_text("some avg10=1.00 avg60=1.00 avg300=1.00 total=3500000\nfull total=9\n")
    use = meter.use()
    assert use.seconds == 8
    assert use.pressure == Pressure(cpu_some=0.25, steal=0.05, softirq=0.1, machine=0.4)


def test_what_is_measured_is_not_another_program() -> None:
    usage = Usage(
        server=3, database=1, upstream=2, generator=1, observer=0.1, program=0.5, machine=8,
        pressure=Pressure(machine=0.4),
    )  # fmt: skip
    assert usage.other == 0.5
    assert usage.other_share == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("counted", "failed", "is_told"),
    [(10_000, 0, False), (25_000, 0, True), (12_000, 9_000, False), (60_000, 9_000, True)],
)
def test_failed_requests_may_have_used_a_source(counted: int, failed: int, is_told: bool) -> None:
    answered = 10_000 - failed
    answers = LoadResult(
        command=["load"], requests=answered, seconds=1, latency=None,
        errors=Errors(status=failed), cpu=1, output="", observer=0,
    )  # fmt: skip
    usage = Usage(
        server=3, database=1, upstream=2, generator=1, observer=0, program=0, machine=8,
        pressure=Pressure(),
    )  # fmt: skip
    sampler = Sampler(Subject("127.0.0.1", 1), Contract(spec.FILES), ["/agents"])
    sources = [Sources(name="postgresql", counted=counted, least=answered)]
    found = warnings(answers, usage, sampler, sources, load_workload("agents"))
    assert any("other clients" in warning for warning in found) == is_told


def test_a_run_says_when_too_few_cores_are_shared() -> None:
    made = runs.a_run()
    assert not any("busy" in caveat for caveat in caveats(runs.a_run(cases=("1 worker",))))
    assert any(
        caveat.startswith("3 busy programs on 2 cores: 2 workers of a server and 1 thread")
        for caveat in caveats(made)
    )
    pins = made.model_copy(update={"cpus": {"server": [0], "load": [1]}})
    assert "2 workers of a server on its 1 core" in caveats(pins)


def test_the_cores_that_a_server_used_are_told() -> None:
    run = runs.a_run(levels=(10,), cases=("1 worker",))
    one = conditions(run)[0]
    middle = sorted(each.rate for each in run.measurements if each.target == one.target)[1]
    assert one.target == "express/express"
    assert one.cores == pytest.approx(0.95)
    assert one.per_core == pytest.approx(middle / 0.95)
