"""What ``just compare`` says of two results."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.analysis.compare import main
from bench.records.result import Run
from tests.runs import SERVERS, a_failure, short, verdicts

pytestmark = pytest.mark.quick

SLOW = "express/express"

Compare = Callable[..., Result]


@pytest.fixture
def before() -> Run:
    return short(repeats=10)


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


def speed_up(run: Run, factor: float, *targets: str) -> None:
    for one in run.measurements:
        if one.target in targets:
            one.rate *= factor


@pytest.mark.parametrize(
    ("targets", "factor", "verdict", "status"),
    [
        ([], 1, "same", 0),
        ([SLOW], 0.5, "worse", 1),
        ([SLOW], 2, "better", 0),
        ([*SERVERS], 0.5, "shared", 0),  # which is not held against any
    ],
)
def test_each_server_has_a_verdict(
    compared: Compare,
    before: Run,
    after: Run,
    targets: list[str],
    factor: float,
    verdict: str,
    status: int,
) -> None:
    speed_up(after, factor, *targets)
    done = compared()
    expected = dict.fromkeys(SERVERS, "same") | dict.fromkeys(targets, verdict)
    assert (done.exit_code, verdicts(before, after)) == (status, expected), done.output
    assert ("0.50 (0.4" in done.stdout) == (factor < 1)
    assert "no change of the machine between the runs" in done.stdout
    assert ("look at the machine first" in done.stdout) == (verdict == "shared")


def test_a_p99_over_the_timeout_is_worse(compared: Compare, after: Run) -> None:
    """Two of ten repeats in time do not make the change one that all servers share."""
    for one in after.measurements:
        if one.target == SLOW and one.repeat > 2 and one.latency:
            one.latency.p99 = None
    done = compared()
    assert done.exit_code == 1
    assert "over the timeout" in done.stdout
    found = json.loads(compared("--json").stdout)["changes"]
    said = {(one["target"], one["figure"]): one for one in found}
    p99 = said.pop((SLOW, "p99"))
    assert (p99["verdict"], p99["after"][2:]) == ("worse", [None] * 8)
    assert {one["verdict"] for one in said.values()} == {"same"}


def test_single_repeats_prove_nothing(compared: Compare, before: Run, after: Run) -> None:
    for run in (before, after):
        run.measurements = [one for one in run.measurements if one.repeat == 1]
    speed_up(after, 0.5, SLOW)
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
