"""What ``just compare`` says of two results."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.analysis.comparable import _GENERATOR
from bench.analysis.compare import changes, main
from bench.measuring.machine import versions
from bench.records.result import Run
from harness.services import Services
from tests.runs import SERVERS, a_failure, short

pytestmark = pytest.mark.quick

SLOW = "express/express"


@pytest.fixture
def before() -> Run:
    return short(repeats=5)


@pytest.fixture
def after(before: Run) -> Run:
    return before.model_copy(deep=True)


@pytest.fixture
def compared(tmp_path: Path, before: Run, after: Run) -> Callable[..., Result]:
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


def verdicts(before: Run, after: Run) -> dict[str, str]:
    return {one.target: one.verdict for one in changes(before, after) if one.figure == "rate"}


def test_the_same_result_has_no_changes(
    compared: Callable[..., Result], before: Run, after: Run
) -> None:
    done = compared()
    assert done.exit_code == 0, done.output
    assert verdicts(before, after) == dict.fromkeys(SERVERS, "same")


def test_a_regression_is_found(compared: Callable[..., Result], before: Run, after: Run) -> None:
    slow_down(after, SLOW)
    done = compared()
    assert done.exit_code == 1
    assert verdicts(before, after) == dict.fromkeys(SERVERS, "same") | {SLOW: "worse"}
    assert "0.50 (0.4" in done.stdout
    assert "no change of the machine between the runs" in done.stdout
    assert "look at the machine first" not in done.stdout


def test_an_improvement_is_found(compared: Callable[..., Result], before: Run, after: Run) -> None:
    slow_down(before, SLOW)
    done = compared()
    assert done.exit_code == 0
    assert verdicts(before, after)[SLOW] == "better"


def test_what_all_servers_share_is_not_held_against_any(
    compared: Callable[..., Result], before: Run, after: Run
) -> None:
    slow_down(after, *SERVERS)
    done = compared()
    assert done.exit_code == 0
    assert verdicts(before, after) == dict.fromkeys(SERVERS, "shared")
    assert "look at the machine first" in done.stdout


def test_a_p99_over_the_timeout_is_worse(compared: Callable[..., Result], after: Run) -> None:
    for one in after.measurements:
        if one.target == SLOW and one.latency:
            one.latency.p99 = None
    done = compared()
    assert done.exit_code == 1
    assert "over the timeout" in done.stdout
    found = json.loads(compared("--json").stdout)["changes"]
    (p99,) = (one for one in found if (one["target"], one["figure"]) == (SLOW, "p99"))
    assert (p99["verdict"], set(p99["after"])) == ("worse", {None})


def test_single_repeats_prove_nothing(
    compared: Callable[..., Result], before: Run, after: Run
) -> None:
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
    compared: Callable[..., Result], after: Run, disqualifies: bool | None, why: str
) -> None:
    after.measurements = [one for one in after.measurements if one.target != SLOW]
    if disqualifies is None:
        del after.servers[SLOW]
    else:
        after.failures = [a_failure(SLOW, "it ended", disqualifies=disqualifies)]
    done = compared()
    assert done.exit_code == 1
    assert f"GONE  {SLOW} has no result for 10 connections (1 worker): {why}" in done.stdout


def test_runs_that_are_not_alike_are_refused(
    compared: Callable[..., Result], before: Run, after: Run
) -> None:
    load = before.workload.load.model_copy(update={"duration": 30.0, "levels": [10.0, 400.0]})
    changes = {"load": load, "warmup": 5.0}
    after.workload = after.workload.model_copy(update=changes)
    after.quick = True
    after.machine = after.machine.model_copy(update={"cores": 8})
    after.versions = {"h2load": "1.60.0"}
    after.measurements[0].affinity = {"server": [0, 1]}
    done = compared()
    assert done.exit_code == 2
    for difference in (
        "quick (False and True)",
        "warmup (None and 5)",
        "load levels (10 and 10 and 400)",
        "load duration (10 and 30)",
        "machine's cores (2 and 8)",
        "version of h2load (1.52.0 and 1.60.0)",
        "affinity",
    ):
        assert difference in done.stderr
    assert compared("--anyway").exit_code == 0


def test_repeats_and_servers_may_differ(compared: Callable[..., Result], after: Run) -> None:
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
