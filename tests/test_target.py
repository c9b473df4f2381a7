"""Servers that the user runs are measured where they are."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

import spec
from bench.analysis.caveats import caveats
from bench.measuring.process_tree import Tree
from bench.measuring.remote_server import RemoteServer, require_one
from bench.measuring.runner import measure_all, require_unchanged, start
from bench.measuring.trial import RunContext
from bench.records import store
from bench.records.result import Run
from bench.workloads.workload import Changes, load_workload
from conformance.run import TargetOrUrl
from conformance.verdict import Check, Verdict
from harness.errors import TaskError, UsageError
from harness.servers.catalog import Target, find_targets
from harness.servers.running import Running, running
from harness.services import Services
from harness.system.ports import free_port
from harness.system.processes import stop

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def server(backing: Services, wrong: Target) -> Iterator[Running]:
    """A server, started as its user would."""
    settings = backing.environment() | {"PORT": str(free_port()), "FILES_DIR": str(spec.FILES)}
    with running(wrong, settings) as found:
        yield found


@pytest.fixture
def proved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Verdict:
    """The verdict on any address."""
    verdict = Verdict("http://…", compared=False)
    verdict.checks.append(Check("text", "test_index", "passed"))
    verdict.finish()

    def prove(subjects: Sequence[TargetOrUrl]) -> list[Verdict]:
        assert all(isinstance(subject, str) for subject in subjects)
        return [verdict]

    monkeypatch.setattr("bench.measuring.runner.prove", prove)
    monkeypatch.setattr(store, "RESULTS", tmp_path / "results")
    return verdict


def measured(path: str, wrong: Target, backing: Services, there: RemoteServer) -> Run:
    changes = Changes(levels=[5], duration=1, repeats=1, warmup=0)
    workload = load_workload("text").changed(changes).model_copy(update={"paths": [path]})
    made = start("test", workload, [wrong], backing, quick=True, elsewhere=there)
    context = RunContext(workload, backing, spec.FILES, workload.paths, elsewhere=there)
    measure_all(made, [wrong], context, lambda *_: None)
    return made


def test_a_server_at_an_address(
    server: Running, wrong: Target, backing: Services, proved: Verdict
) -> None:
    """A restart is noticed, as its CPU time would start again from 0."""
    there, tree = RemoteServer(server.url), Tree(psutil.Process(server.process.pid))
    before = tree.cpu()
    made = measured("/mongo", wrong, backing, there)
    (one,) = made.measurements
    assert one.cpu.server
    assert 0 < one.cpu.server <= tree.cpu() - before + 0.01
    assert one.memory
    assert one.memory.peak == pytest.approx(tree.pss(), rel=0.5)
    assert one.threads >= one.processes > 0
    assert one.environment == {}
    assert one.sources[0].agrees
    info = made.servers[wrong.name]
    assert (info.address, info.state, info.versions) == (server.url, "", {})
    assert any("started by its user" in caveat for caveat in caveats(made))
    require_unchanged(made, [wrong])
    there.require_alive()
    stop(server.process)
    with pytest.raises(TaskError, match="was restarted, or has ended"):
        there.require_alive()


def test_the_use_of_a_server_on_another_machine_is_left_out(
    server: Running, wrong: Target, backing: Services, proved: Verdict
) -> None:
    there = RemoteServer(server.url)
    there.tree = RemoteServer("http://192.0.2.1:8000").tree
    made = measured("/index", wrong, backing, there)
    (one,) = made.measurements
    assert (one.cpu.server, one.memory) == (None, None)
    assert any("versions, CPU time and memory are not known" in caveat for caveat in caveats(made))


def test_it_must_pass_conformance_first(wrong: Target, backing: Services, proved: Verdict) -> None:
    proved.error = "it did not"
    with pytest.raises(TaskError, match="did not pass conformance and cannot be measured"):
        measured("/index", wrong, backing, RemoteServer("http://127.0.0.1:9"))


@pytest.mark.parametrize(
    ("names", "changes", "message"),
    [
        (["tornado", "twisted"], {}, "--target is one server: give the NAME/DEPLOYMENT"),
        (["tornado"], {"paths": ["/mongo"]}, "set MONGODB_URL to what the server"),
        (["tornado"], {"paths": ["/agents"]}, "set DATABASE_URL to what the server"),
        (["tornado"], {"case": load_workload("workers").case}, "settings of its own"),
        (["tornado"], {"case": load_workload("under-attack").case}, "only servers that this task"),
    ],
)
def test_what_cannot_be_measured(
    names: list[str], changes: dict[str, object], message: str
) -> None:
    workload = load_workload("text").model_copy(update=changes)
    with pytest.raises(UsageError, match=message):
        require_one("http://10.0.0.1:8000", find_targets(names), workload, [], {})


def test_a_server_out_of_reach_of_the_workers() -> None:
    with pytest.raises(UsageError, match=r"out of reach for 192\.0\.2\.1"):
        require_one("http://127.0.0.1:1", [], load_workload("text"), ["192.0.2.1"], {})
