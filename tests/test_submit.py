"""A result is published only if its figures can be believed, and without private names."""

import gzip
from pathlib import Path

import pytest

from bench.analysis.standings import rows_of
from bench.records import store
from bench.records.histogram import merged
from bench.records.result import Run
from bench.records.store import find, read
from bench.workloads.load import Load
from bench.workloads.workload import load_workload
from tests.programs import execute
from tests.runs import a_run, busy
from upkeep import submit
from upkeep.privacy import Identity, remains, without_identity
from upkeep.reference import name_of, pack, place_of
from upkeep.submit import machine_problems, problems

pytestmark = pytest.mark.quick

HEAD = execute("git", "rev-parse", "--short=12", "HEAD").stdout.strip()
IDENTITY = Identity("/home/jo/src/servers", "/home/jo", "jo-smith", "jos-laptop")


@pytest.fixture(autouse=True)
def _servers_are_as_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever somebody is changing in this checkout."""
    monkeypatch.setattr(submit, "_changed_files", lambda *_: [])


def good() -> Run:
    """A run of a workload of ours, with nothing wrong."""
    workload = load_workload("text")
    levels = tuple(workload.load.levels)
    run = a_run("text", levels, tuple(case.name for case in workload.case), workload.repeats)
    run.workload, run.project = workload, HEAD
    for one in run.measurements:
        one.warnings = []
    return run


def wrong(run: Run, *accepted: str) -> str:
    return "\n".join(f"{one.what} → {one.advice}" for one in problems(run, accepted=accepted))


def test_a_good_result_has_all_repeats_of_each_server() -> None:
    run = good()
    run.workload = run.workload.model_copy(update={"about": "In words since corrected."})
    assert wrong(run) == ""
    name = run.measurements.pop(0).target
    assert f"{name} has fewer than {run.workload.repeats} repeats" in wrong(run)


def test_every_problem_is_named_with_what_to_do() -> None:
    run = good()
    run.project += "+"
    run.workload = run.workload.model_copy(
        update={"load": Load(model="closed", levels=[200], duration=1), "repeats": 1}
    )
    run.measurements[0].warnings = [busy(9)]
    found = wrong(run)
    assert f"changed since commit {HEAD} → commit the changes, and measure again" in found
    assert "duration is 1.0, and the workload's own is " in found
    assert "it has 1 repeats, of " in found
    assert "the machine was busy: other programs used 9% of it" in found
    assert "--accept busy" in found
    assert "busy" not in wrong(run, "busy")


def test_some_of_the_levels_and_repeats_can_be_accepted() -> None:
    run = good()
    workload = load_workload("json-constant")
    run.workload_name = "json-constant"
    part = Load.model_validate(workload.load.model_dump() | {"levels": [10], "duration": [30]})
    run.workload = workload.model_copy(update={"load": part, "repeats": 2})
    found = wrong(run)
    assert "levels is [10.0], and the workload's own is [4000.0, 10.0] → " in found
    assert "it has 2 repeats, of 10 at least → " in found
    accepted = wrong(run, "fewer")
    assert "levels" not in accepted
    assert "at least" not in accepted
    run.workload = workload.model_copy(update={"load": part, "repeats": 1})
    assert "it has 1 repeats, of 2 at least" in wrong(run, "fewer")
    longer = part.model_copy(update={"duration": [20.0]})
    run.workload = workload.model_copy(update={"load": longer, "repeats": 2})
    assert "duration is [20.0], and the workload's own is [30.0]" in wrong(run, "fewer")


def test_quick_incomplete_and_unknown() -> None:
    run = good()
    run.quick, run.complete, run.project = True, False, "0123456789ab"
    found = wrong(run)
    assert "it is a quick run → ./just bench text" in found
    assert f"it is not complete → ./just bench --resume {run.id}" in found
    assert "its commit, 0123456789ab, is not in this repository" in found


def test_a_server_that_has_changed_since(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # what the fixture has set
    added = ("--diff-filter=A", "--", "python/flask/server.toml")
    first = execute("git", "log", "--format=%H", *added).stdout.split()
    if not first:
        pytest.skip("the history of this checkout is cut off")
    run = good()
    run.project = f"{first[-1]}^"
    assert "python/flask has changed since: " in wrong(run)


def test_names_and_paths_of_the_machine_are_taken_out() -> None:
    run = good()
    run.workers = ["load1.example.org", "10.0.0.8"]
    one = run.measurements[0]
    run.servers[one.target].address = "http://203.0.113.7:8000"
    published = {
        "/home/jo/src/servers/.tools/bin/h2load": "CHECKOUT/.tools/bin/h2load",
        "/home/jo/x.lua": "HOME/x.lua",
        "jo-smith at jos-laptop": "USER at HOST",
        "10.0.0.7": "ADDRESS",
        "http://203.0.113.7:8000": "http://MACHINE-2:8000",
        "/usr/bin": "/usr/bin",
    }
    one.command, one.environment = list(published), {"HOME": "/home/jo"}
    named = {"/home/jo", "/home/jo/src/servers", "jos-laptop", "10.0.0.7", "10.0.0.8"}
    assert set(remains(run, IDENTITY)) == named
    clean = without_identity(run, IDENTITY)
    assert clean.measurements[0].command == list(published.values())
    assert clean.measurements[0].environment == {"HOME": "HOME"}
    assert clean.workers == ["MACHINE-3", "MACHINE-1"]
    assert remains(clean, IDENTITY) == []
    del clean.servers[one.target], run.servers[one.target]
    assert clean.servers == run.servers


def test_a_published_result_is_found_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "RESULTS", tmp_path)
    monkeypatch.setattr("upkeep.reference.REFERENCE", tmp_path / "reference")
    run = good()
    place = place_of(run, "a-cpu-2-cores")
    place.parent.mkdir(parents=True)
    place.write_bytes(pack(run))
    assert pack(run) == place.read_bytes()
    found = read(find("reference/a-cpu-2-cores/text"))
    assert found == read(find(str(place)))
    assert pack(found) == pack(run)
    assert rows_of(found) == rows_of(run)
    assert found.model_copy(update={"measurements": run.measurements}) == run
    assert list(machine_problems(run, "a-cpu-2-cores")) == []
    run.machine.microcode = "0x1"
    assert list(machine_problems(run, "a-cpu-2-cores")) == [], "the other's is not known"
    run.machine.cores = 64
    (problem,) = machine_problems(run, "a-cpu-2-cores")
    assert "another kind of machine: a CPU, 2 cores" in problem.what


def test_a_published_result_has_the_response_times_of_all_repeats_once() -> None:
    run = good()
    for one in run.measurements:
        one.output = f'{{"histogram": "{one.histogram}", "rate": 1}}'
    found = Run.model_validate_json(gzip.decompress(pack(run)))
    assert {one.output for one in found.measurements} == {'{"histogram": "", "rate": 1}'}
    assert sum(bool(one.histogram) for one in found.measurements) == len(run.servers)
    assert rows_of(found) == rows_of(run)
    before, after = (merged(one.histogram for one in of.measurements) for of in (run, found))
    assert len(before) == len(after) > 0
    shares = [0.01, 0.5, 0.99, 1.0]
    assert after.times(shares, 0) == pytest.approx(before.times(shares, 0), rel=0.01)
    assert all(one.histogram for one in run.measurements), "the run itself is left alone"


def test_names_of_machines() -> None:
    machine = good().machine
    machine.cpu = "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz"
    assert name_of(machine) == "intel-xeon-platinum-8481c-2-cores"
