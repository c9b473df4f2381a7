"""Loads from other machines, which are processes of this one here."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.generators import LoadResult, Workers, workers
from bench.generators.workers import VARIABLE, connected, divided
from bench.measuring.machine import identity
from bench.records.measurement import Errors
from harness.errors import UsageError
from harness.paths import ROOT
from harness.system.ports import free_port
from harness.system.processes import spawn, stop
from tests.loads import load_spec
from tests.programs import execute

pytestmark = pytest.mark.usefixtures("generators")

HOSTS = ["127.0.0.1", "127.0.0.2"]
SCRIPT = """
import bench.generators.workers as workers; workers.PORT = {port}
from bench.worker import main; main()
"""


@pytest.fixture
def started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Each command that is printed is run, on a free port."""
    monkeypatch.setattr(workers, "PORT", port := free_port())
    script = SCRIPT.format(port=port)
    found: list[subprocess.Popen[bytes]] = []

    def start(words: str) -> None:
        (token,) = re.findall(rf"{VARIABLE}=(\w+) \./just worker 127\.", words)
        with (tmp_path / f"worker{len(found)}").open("w") as log:
            command = [sys.executable, "-c", script, "127.0.0.1"]
            found.append(spawn(command, cwd=ROOT, env=os.environ | {VARIABLE: token}, output=log))

    monkeypatch.setattr(workers, "say", start)
    yield found
    for one in found:
        stop(one, grace=1)


@pytest.fixture
def two(started: list[subprocess.Popen[bytes]]) -> Iterator[Workers]:
    with connected(HOSTS, identity()) as found:
        assert found
        yield found
    for one in started:
        assert one.wait(10) == 0, "a worker ends with the run"


def test_each_load_is_divided(tmp_path: Path, port: int, two: Workers) -> None:
    def put(*paths: str, **changes: Any) -> LoadResult:
        return two.generate(load_spec(tmp_path, port, *paths, **changes))

    result = put("/", "/wrong", level=50.0, duration=2.0)
    assert (result.requests, result.errors) == (50, Errors(status=50))
    assert sum(result.windows) == pytest.approx(50, abs=15)
    assert result.lag is not None
    assert 0 < result.cpu == result.workers_cpu
    counted = put("/", model="closed", level=3.0, requests=501, duration=None)
    assert (counted.requests, counted.errors) == (501, Errors())
    assert counted.bodies
    assert counted.bodies.agree
    closed = put("/", model="closed", level=3.0, duration=1.0)
    assert closed.clients
    assert (closed.clients.count, closed.clients.starved) == (3, 0)
    assert closed.busiest
    opened = put("/", model="connection rate", level=41.0, calls=5)
    assert (opened.requests, opened.errors) == (205, Errors())


def test_parts_add_up(tmp_path: Path) -> None:
    parts = divided(load_spec(tmp_path, 1, "/", model="closed", level=5.0), 3)
    assert [part.level for part in parts] == [2, 2, 1]
    assert len({part.seed for part in parts}) == 3
    (alone,) = divided(load_spec(tmp_path, 1, "/", model="closed", level=1.0), 3)
    assert alone.level == 1
    few = load_spec(tmp_path, 1, "/", model="closed", level=5.0, requests=2, duration=None)
    assert [part.load.requests for part in divided(few, 3)] == [1, 1]


def test_a_lost_machine_ends_the_run(
    tmp_path: Path, port: int, started: list[subprocess.Popen[bytes]]
) -> None:
    with connected(HOSTS[:1], identity()) as one:
        assert one
        started[0].kill()
        with pytest.raises(UsageError, match="was lost"):
            one.generate(load_spec(tmp_path, port, "/"))


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setattr(workers, "PORT", port)
    with pytest.raises(UsageError, match=f"port {port} is in use"), connected(HOSTS, ""):
        pass


@pytest.mark.usefixtures("started")
def test_machines_have_the_same_versions() -> None:
    with pytest.raises(UsageError, match="a machine has commit"), connected(HOSTS[:1], "another"):
        pass


def test_without_its_token_a_worker_names_the_variable() -> None:
    done = execute(sys.executable, "-m", "bench.worker", "127.0.0.1", env={VARIABLE: ""})
    assert done.returncode == 2
    assert VARIABLE in done.stderr
