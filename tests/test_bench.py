"""Servers that have not passed are not measured, and wrong responses under load give no figure."""

import json
import os
import re
import signal
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import psutil
import pymongo
import pytest
from click.testing import CliRunner

import spec
from bench.analysis.compare import main as compare
from bench.generators import LoadResult, LoadSpec, generate
from bench.measuring.process_tree import listening_at
from bench.measuring.runner import measure_all, require_conformance, start
from bench.measuring.trial import RunContext
from bench.measuring.warmup import warm_up
from bench.records import store
from bench.records.result import Run
from bench.records.store import find, read
from bench.report.folder import write_report
from bench.workloads.load import Load
from bench.workloads.workload import Changes, Workload, load_workload
from conformance.prove import Proof
from harness.errors import TaskError
from harness.servers.catalog import Target
from harness.services import Services
from harness.system.ports import free_port
from harness.system.processes import raise_limits
from tests.browser import Browse
from tests.interrupted import task
from tests.tasks import call, run

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that selects the wrong server's fault."""
    path = tmp_path / "fault"
    path.write_text("")
    monkeypatch.setenv("FAULT_FILE", str(path))
    monkeypatch.setattr(store, "RESULTS", tmp_path / "results")
    return path


Measure = Callable[..., Run]


@pytest.fixture
def measure(
    wrong: Target, backing: Services, faults: Path, monkeypatch: pytest.MonkeyPatch
) -> Measure:
    """Measures this server, which has passed, as tests/test_faults.py shows.

    ``look`` gets each load before it begins.
    """
    monkeypatch.setattr("bench.measuring.runner.passed_as", lambda *_: "a fingerprint")

    def measured(
        plan: Workload,
        cpus: dict[str, list[int]] | None = None,
        look: Callable[[LoadSpec], None] = lambda _: None,
    ) -> Run:
        def generated(load: LoadSpec, *rest: Any) -> LoadResult:
            look(load)
            return generate(load, *rest)

        monkeypatch.setattr("bench.measuring.trial.generate", generated)
        made = start("test", plan, [wrong], backing, quick=True, seed=1, cpus=cpus)
        context = RunContext(plan, backing, spec.FILES, plan.paths, cores=made.cpus)
        measure_all(made, [wrong], context, lambda *_: None)
        assert made.complete
        with pymongo.MongoClient[Any](backing.mongodb_url) as client:
            stored = json.loads(load_workload("notes").stored)
            assert not client.get_default_database().notes.find_one(stored), "is left behind"
        return made

    return measured


def workload(path: str, levels: list[float], **changes: Any) -> Workload:
    numbers = Changes(levels=levels, duration=1, repeats=1, warmup=1)
    plain = load_workload("notes" if path == "/notes" else "text").changed(numbers)
    return plain.model_copy(update={"paths": [path], "samples": 10, **changes})


def test_a_wrong_byte_is_not_measured(
    wrong: Target, backing: Services, faults: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One part of the suite finds it."""
    monkeypatch.setattr("conformance.verdict.RUN", faults.parent)
    monkeypatch.setattr("bench.measuring.runner.prove", Proof(["-k", "text"]).run)
    faults.write_text("index-other-byte")
    with pytest.raises(TaskError, match="did not pass conformance and cannot be measured"):
        require_conformance([wrong])


AT_A_RATE = Load(model="constant rate", levels=[20], duration=1)


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("/mongo", {"warmup": None}),
        ("/notes", {}),
        ("/notes", {"statuses": [400, 422], "body": '{"title":7}'}),
        ("/nothing/here", {"statuses": [404], "load": AT_A_RATE}),
    ],
)
def test_right_under_load(
    measure: Measure, monkeypatch: pytest.MonkeyPatch, path: str, changes: dict[str, Any]
) -> None:
    """The server is warmed up until its rate is level, or for 8 s, as this machine may be too busy;
    or for a given time. The audit counts all of the warm-up."""
    monkeypatch.setattr("bench.measuring.warmup.warm_up", partial(warm_up, longest=8))
    plan = workload(path, [5], **changes)
    made = measure(plan)
    assert made.failures == []
    (one,) = made.measurements
    assert one.order == 1
    assert one.checked.during
    assert one.checked.after
    assert one.requests > 0
    assert one.errors.total == 0
    assert one.warmup
    assert one.warmup.judged == (plan.warmup is None)
    assert {source.name for source in one.sources} == plan.sources
    assert all(source.least >= one.requests + one.warmup.requests for source in one.sources)
    assert one.cpu.server
    assert bool(one.cpu.database) == bool(plan.sources)
    assert one.memory
    assert one.memory.peak >= one.memory.rest > 0
    assert one.threads >= one.processes > 0
    assert one.pressure.machine
    assert one.cpu.other >= 0
    assert one.work


@pytest.mark.parametrize(
    ("fault", "path", "levels", "changes", "message"),
    [
        ("wrong-under-load", "/index", [5, 40], {}, "expected  b'Hello, World!'"),
        # A sample could be among the wrong responses.
        ("rarely-short-under-load", "/index", [40], {"samples": 0}, "bytes"),
        ("note-altered", "/notes", [5], {}, "expected"),
        ("note-without-location", "/notes", [5], {}, "expected  /notes/ID"),
        ("", "/index", [5], {"statuses": [404]}, "status"),
        # The databases count what other tests do, too.
        *(
            pytest.param(fault, path, [5], {}, f"{database} counted", marks=pytest.mark.alone)
            for fault, path, database in (
                ("cached-article", "/mongo", "mongodb"),
                ("cached-agents", "/agents", "postgresql"),
                ("note-not-stored", "/notes", "mongodb"),
            )
        ),
    ],
)
def test_wrong_under_load(
    measure: Measure,
    faults: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    path: str,
    levels: list[float],
    changes: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.setattr("bench.measuring.source_audit._FLUSH", 1.0)  # for counts that never come
    faults.write_text(fault)
    made = measure(workload(path, levels, warmup=0, **changes))
    assert made.measurements == []
    assert made.failures[-1].disqualifies
    assert message in made.failures[-1].why


def test_a_given_rate_is_preceded_by_new_connections(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[Any] = []

    def look(load: LoadSpec) -> None:
        loads.append((load.load.model, load.level, load.duration))

    monkeypatch.setattr("bench.measuring.trial.come_to_rest", lambda _: loads.append("rest"))
    plan = load_workload("under-attack").changed(Changes(duration=1, repeats=1))
    plan = plan.model_copy(update={"case": plan.case[:1]})
    (one,) = measure(plan, look=look).measurements
    closed, new, given = ("closed", 50, 1), ("connection rate", 400, 1), ("constant rate", 200, 1)
    assert loads == [closed, "rest", closed, "rest", new, "rest", given]
    assert one.warmup
    assert (one.warmup.seconds, one.warmup.judged) == (3, False)
    assert one.warmup.requests > 400


@pytest.mark.alone
def test_a_server_is_attacked_where_a_case_says_so(measure: Measure) -> None:
    """The attackers' CPU time is the load generator's."""
    raise_limits()
    plan = load_workload("under-attack").changed(Changes(duration=1, repeats=1, warmup=0))
    cases = [one for one in plan.case if "slow" not in one.name]
    plan = plan.model_copy(update={"case": cases})
    attacked = []

    def look(load: LoadSpec) -> None:
        port = urlsplit(load.url).port
        connections = [one for one in psutil.net_connections("tcp") if port in one.laddr]
        attacked.append(len(connections) > 300)  # of 1,000: the list is read while it changes
        if attacked[-1]:
            with urlopen(f"{load.url}/files/big.bin") as big:
                assert int(big.headers["Content-Length"]) == 16_000_000

    made = measure(plan, look=look)
    assert sorted(attacked) == [False, False, True]
    used = {one.case: one.cpu.generator for one in made.measurements}
    assert used["malformed requests"] > used["no attack"]
    assert [one.requests for one in made.measurements] == [200] * 3
    assert made.failures == made.tries == []


def test_a_port_that_another_program_took_costs_no_figure(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.measuring.runner._PAUSE", 0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1]])
        monkeypatch.setattr(
            "bench.measuring.trial.free_port", lambda: next(ports, None) or free_port()
        )
        made = measure(workload("/index", [5]))
    assert len(made.measurements) == 1
    assert made.failures == []
    assert ["another program took port" in one.why for one in made.tries] == [True]


@pytest.mark.alone
def test_an_upstream_that_ends_under_load_costs_no_figure(
    measure: Measure, backing: Services
) -> None:
    upstreams = [listening_at([backing.slow_api_url])]

    def end_it(_: LoadSpec) -> None:
        if upstreams:
            upstreams.pop().roots[0].kill()

    made = measure(workload("/slow_api?calls=2&ms=1", [5]), look=end_it)
    assert made.failures == []
    assert len(made.measurements) == 1
    assert made.tries
    assert all(one.cpu.upstream for one in made.measurements)


def test_programs_run_on_the_cores_of_their_role(measure: Measure, backing: Services) -> None:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("needs 2 cores")
    cpus = {"server": cores[:1], "load": cores[1:2], "database": cores[1:2]}
    seen = []

    def look(load: LoadSpec) -> None:
        server, mongod = (listening_at([url]).roots[0] for url in (load.url, backing.mongodb_url))
        seen.append([one.cpu_affinity() for one in (server, psutil.Process(), mongod)])

    made = measure(workload("/mongo", [5]), cpus, look)
    assert [one.affinity for one in made.measurements] == [cpus]
    assert seen == [list(cpus.values())] * 2, "in the warm-up and in the load"
    assert listening_at([backing.mongodb_url]).roots[0].cpu_affinity() == cores, "and put back"


@pytest.mark.alone
def test_a_bench_of_two_servers_is_interrupted_and_resumed(tmp_path: Path, browse: Browse) -> None:
    servers = ("express/express", "aiohttp/aiohttp")
    numbers = ("--quick", "--repeats", "1", "--case", "WORKERS=1")
    with task("bench", "mongo-small", *numbers, *servers, log=tmp_path / "log") as running:
        running.wait_for(lambda running: "the order of trials" in running.output)
        (id,) = re.findall("(?m)^(.*): the order of trials", running.output)
        running.wait_for(lambda _: read(find(id)).measurements != [])
        running.signal(signal.SIGINT)
        assert running.process.wait(30) == 130
        stopped = read(find(id))
        assert not stopped.complete
        assert len(stopped.measurements) == 1
        assert run("bench", "--resume", "last").returncode == 0
        made = read(find(id))
        again = call("bench", "--resume", id)
        same = CliRunner().invoke(compare, [id, id])
    assert made.complete
    assert made.measurements[:1] == stopped.measurements
    assert {"h2load", "mongodb"} <= made.versions.keys()
    assert {one.target for one in made.measurements} == set(servers)
    assert again.returncode == 2
    assert "is already finished" in again.stderr
    assert same.exit_code == 0, same.output
    observer = sum(one.cpu.observer for one in made.measurements)
    seconds = sum(one.seconds for one in made.measurements)
    assert observer < 0.05 * seconds, "measuring costs too much"
    page = browse(write_report([made], tmp_path / "report").with_name("mongo-small.html"))
    page.draw_all()
    assert set(page.shown("mongo-small")) == set(servers)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("txt",), "did you mean text"),
        ((), "give a WORKLOAD"),
        (("mongo-small", "nginx"), "none of these servers can run the workload"),
        (("text", "--levels", "many", "tornado"), "--levels: 'many' is not a list of positive"),
        (("text", "--duration", "0", "tornado"), "--duration: '0' is not a list of positive"),
        (("text", "--repeats", "0", "tornado"), "--repeats"),
        (("text", "--case", "WORKERS", "tornado"), "'WORKERS' is not a case ('1 worker'), nor"),
        (("text", "--case", "WORKERS=x", "tornado"), "--case: settings.WORKERS"),
        (("text", "--images", "5", "tornado"), "--images: text has paths, no generated images"),
        (("text", "--calls", "5", "tornado"), "--calls: text opens no connections at a rate"),
        (("--cpus", "load=x", "text", "tornado"), "--cpus: 'x' is not a list of cores"),
        (("--resume", "last", "--levels", "3"), "a run is resumed with its own numbers"),
        (("--resume", "nothing"), "there is no result 'nothing'"),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], message: str) -> None:
    done = call("bench", *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
