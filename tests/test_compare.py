"""What ``just compare`` says of two results."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.analysis.compare import _GENERATOR, changes, main
from bench.measuring.machine import versions
from bench.records.result import Run
from harness.services import Services
from tests.runs import SERVERS, a_failure, short, verdicts

pytestmark = pytest.mark.quick

SLOW = "express/express"
ALIKE = dict.fromkeys(SERVERS, "same")

Compare = Callable[..., Result]


@pytest.fixture
def before() -> Run:
    return short(repeats=5)


@pytest.fixture
def after(before: Run) -> Run:
    return before.model_copy(deep=True)


@pytest.fixture
def compared(tmp_path: Path, before: Run, after: Run) -> Compare:
    def compare(*arguments: str) -> Result:
        paths = []
        for name, run in (("before", before), ("after", after)):
            path = tmp_path / f"{name}.json"
            path.write_text(run.model_dump_json())
            paths.append(str(path))
        return CliRunner().invoke(main, [*paths, *arguments])

    return compare


def slow_down(run: Run, *targets: str) -> None:
    for one in run.measurements:
        if one.target in targets:
            one.rate /= 2


@pytest.mark.parametrize(
    ("in_before", "in_after", "expected", "status"),
    [
        ([], [], ALIKE, 0),
        ([], [SLOW], ALIKE | {SLOW: "worse"}, 1),
        ([SLOW], [], ALIKE | {SLOW: "better"}, 0),
        ([], [*SERVERS], dict.fromkeys(SERVERS, "shared"), 0),
    ],
    ids=["same", "worse", "better", "what all servers share is not held against any"],
)
def test_each_server_has_a_verdict(
    compared: Compare,
    before: Run,
    after: Run,
    in_before: list[str],
    in_after: list[str],
    expected: dict[str, str],
    status: int,
) -> None:
    """If these servers are slower in one of the runs."""
    slow_down(before, *in_before)
    slow_down(after, *in_after)
    done = compared()
    assert (done.exit_code, verdicts(before, after)) == (status, expected), done.output
    assert ("0.50 (0.4" in done.stdout) == bool(in_after)
    assert "no change of the machine between the runs" in done.stdout
    assert ("look at the machine first" in done.stdout) == ("shared" in expected.values())


def test_a_p99_over_the_timeout_is_worse(compared: Compare, after: Run) -> None:
    for one in after.measurements:
        if one.target == SLOW and one.latency:
            one.latency.p99 = None
    done = compared()
    assert done.exit_code == 1
    assert "over the timeout" in done.stdout
    found = json.loads(compared("--json").stdout)["changes"]
    (p99,) = (one for one in found if (one["target"], one["figure"]) == (SLOW, "p99"))
    assert (p99["verdict"], set(p99["after"])) == ("worse", {None})


def test_repeats_over_the_timeout_count_beside_the_other_servers() -> None:
    """Two of ten in time do not make the change one that all servers share."""
    before = short(repeats=10)
    after = before.model_copy(deep=True)
    for one in after.measurements:
        if one.target == SLOW and one.repeat > 2 and one.latency:
            one.latency.p99 = None
    found = {(one.target, one.figure): one.verdict for one in changes(before, after)}
    assert found.pop((SLOW, "p99")) == "worse"
    assert set(found.values()) == {"same"}


def test_single_repeats_prove_nothing(compared: Compare, before: Run, after: Run) -> None:
    for run in (before, after):
        run.measurements = [one for one in run.measurements if one.repeat == 1]
    slow_down(after, SLOW)
    done = compared()
    assert done.exit_code == 0
    assert set(verdicts(before, after).values()) == {"unsure"}
    assert "95%" not in done.stdout


@pytest.mark.parametrize(
    ("disqualifies", "why"),
    [(True, "disqualified: it ended"), (False, "failed: it ended"), (None, "not in this run")],
)
def test_a_server_without_figures_is_named(
    compared: Compare, after: Run, disqualifies: bool | None, why: str
) -> None:
    after.measurements = [one for one in after.measurements if one.target != SLOW]
    if disqualifies is None:
        del after.servers[SLOW]
    else:
        after.failures = [a_failure(SLOW, "it ended", disqualifies=disqualifies)]
    done = compared()
    assert done.exit_code == 1
    assert f"GONE  {SLOW} has no result for 10 connections (1 worker): {why}" in done.stdout


def test_runs_that_are_not_alike_are_refused(compared: Compare, before: Run, after: Run) -> None:
    load = before.workload.load.model_copy(update={"duration": 30.0, "levels": [10.0, 400.0]})
    changes = {"load": load, "warmup": 5.0}
    after.workload = after.workload.model_copy(update=changes)
    after.quick = True
    after.machine = after.machine.model_copy(update={"cores": 8})
    after.versions = {"h2load": "1.60.0"}
    after.workers = ["load1"]
    after.measurements[0].affinity = {"server": [0, 1]}
    done = compared()
    assert done.exit_code == 2
    for difference in (
        "quick (False and True)",
        "warmup (None and 5)",
        "load levels (10 and 10 and 400)",
        "load duration (10 and 30)",
        "machine's cores (2 and 8)",
        "other machines (none and load1)",
        "version of h2load (1.52.0 and 1.60.0)",
        "affinity",
    ):
        assert difference in done.stderr
    assert compared("--anyway").exit_code == 0


def test_repeats_and_servers_may_differ(compared: Compare, after: Run) -> None:
    after.workload = after.workload.model_copy(update={"repeats": 4, "servers": ["express"]})
    after.measurements = [one for one in after.measurements if one.repeat < 5]
    assert compared().exit_code == 0


def test_a_result_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"schema_version": 1}')
    done = CliRunner().invoke(main, [str(path), str(path)])
    assert done.exit_code == 2
    assert "schema_version is 1" in done.stderr


def test_results_name_all_versions_that_runs_must_share(backing: Services) -> None:
    assert _GENERATOR in versions(backing)
