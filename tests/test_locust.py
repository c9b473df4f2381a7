"""Locust's loads against servers that stall, fail and close connections."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.generators import capacity
from bench.generators import locust_program as locust
from bench.generators.interface import Bodies, LoadResult
from bench.measuring.steadiness import drift
from bench.records.histogram import merged
from bench.records.measurement import Errors
from harness.errors import UsageError
from harness.paths import ROOT, TOOLS
from harness.system.ports import free_port
from harness.system.processes import spawn, stop, wait_until
from harness.toolchains.wheel import install_wheel
from tests.frozen import FREEZE, PERIOD, freezing
from tests.loads import load_spec, serving

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module", autouse=True)
def _locust() -> None:
    install_wheel("locust", TOOLS / "locust")


def details(output: str) -> dict[str, Any]:
    """The line of JSON that Locust prints."""
    found: dict[str, Any] = json.loads(next(x for x in output.splitlines() if x.startswith("{")))
    return found


def naive_p95(port: int, seconds: float) -> float:
    """The 95th percentile, in milliseconds, for a client that waits for each response."""
    client = http.client.HTTPConnection("127.0.0.1", port)
    took = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        client.request("GET", "/")
        client.getresponse().read()
        took.append((time.monotonic() - began) * 1000)
        time.sleep(0.02)
    client.close()
    return sorted(took)[int(0.95 * len(took))]


def stalled(folder: Path) -> tuple[LoadResult, float]:
    """The result of Locust for a server that freezes, and that of a naive client meanwhile."""
    naive: list[float] = []
    with freezing(port := free_port()):
        waiting = threading.Thread(target=lambda: naive.append(naive_p95(port, 2 * PERIOD)))
        waiting.start()
        result = locust.generate(load_spec(folder, port, "/", level=100.0, duration=2 * PERIOD))
        waiting.join()
    return result, naive[0]


def test_a_stall_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the requests start during a freeze, and wait until its end."""
    theory = pytest.approx({"p90": 600, "p95": 800, "p99": 960}, rel=0.03)
    for _ in range(5):
        result, naive = stalled(tmp_path)
        assert result.latency
        found = result.latency.model_dump(include={"p90", "p95", "p99"})
        if found == theory:
            break  # otherwise this machine was too busy to send them on time: try again
    assert found == theory
    assert result.requests == 100 * 2 * PERIOD
    assert result.errors.total == 0
    assert result.seconds == pytest.approx(2 * PERIOD, abs=FREEZE)
    assert naive < 200
    # A search for the capacity puts on the same load in each step.
    monkeypatch.setattr(capacity, "MOST_RATES", 1)
    monkeypatch.setattr(capacity._Search, "_recover", lambda _: None)
    spec = load_spec(tmp_path, 9, "/", model="capacity", level=100)
    for step in capacity.search(spec, lambda _: result).steps:
        assert (step.p99, step.held) == (found["p99"], False)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving() as found:
        yield found


def put(folder: Path, port: int, *paths: str, **changes: Any) -> LoadResult:
    return locust.generate(load_spec(folder, port, *paths, **changes))


def test_errors_by_kind(tmp_path: Path, port: int) -> None:
    """With two processes, whose CPU time counts too."""
    paths = ("/", "/closed", "/wrong", "/late", "/short", "/moved", "/", "/")
    result = put(tmp_path, port, *paths, timeout=0.5, threads=2, sizes=[2] * len(paths))
    assert result.errors == Errors(read=25, status=50, timeout=25, short=25)
    assert (result.requests, result.attempts) == (75, 200)
    assert len(result.per_second) == int(result.seconds)
    assert 0 < sum(result.per_second) <= 75
    assert result.bodies == Bodies(received=175, due=200, least=200, most=200)
    assert result.cpu > details(result.output)["cpu"] > 0
    assert result.seconds == pytest.approx(1.5, abs=0.4)


def test_a_server_that_answers_no_more(tmp_path: Path, port: int) -> None:
    """The seconds without a response count: they say that the rate was not steady."""
    paths = ["/"] * 20 + ["/late"] * 120
    result = put(tmp_path, port, *paths, level=20.0, duration=7.0, timeout=0.5, threads=2)
    assert result.errors == Errors(timeout=120)
    assert result.per_second == [20, 0, 0, 0, 0, 0, 0]
    assert drift(result.windows) == -1


def test_failures_count_as_longer_than_any_response(tmp_path: Path, port: int) -> None:
    result = put(tmp_path, port, *["/"] * 9, "/closed")
    assert result.latency
    assert result.latency.p90 == pytest.approx(result.latency.p75, abs=2000)
    assert (result.latency.p95, result.latency.p99, result.latency.max) == (None, None, None)
    assert len(merged([result.histogram])) == result.requests == 180


CLOSED: dict[str, Any] = {"model": "closed", "level": 6.0, "duration": 3.5}
RATE: dict[str, Any] = {"model": "connection rate", "level": 40.0, "calls": 5}


@pytest.mark.parametrize(
    ("paths", "load", "requests", "attempts", "errors"),
    [
        (["/late"], CLOSED, 6 * 3, 6 * 4, Errors()),  # the last ones are in flight at the end
        (["/"], CLOSED | {"duration": None, "requests": 501, "threads": 2}, 501, 501, Errors()),
        (["/"], RATE, 200, 200, Errors()),
        (["/closed"], RATE, 0, 200, Errors(read=40, connect=160)),  # the rest is not sent
        ([], {}, 0, 200, Errors(connect=200)),  # no server listens
    ],
)
def test_each_model_accounts_for_all_requests(
    tmp_path: Path,
    port: int,
    paths: list[str],
    load: dict[str, Any],
    requests: int,
    attempts: int,
    errors: Errors,
) -> None:
    result = put(tmp_path, port if paths else free_port(), *(paths or ["/"]), **load)
    assert (result.requests, result.attempts, result.errors) == (requests, attempts, errors)
    assert result.latency
    if paths == ["/late"]:
        assert (result.seconds, result.per_second[0]) == (3.5, 0)
        assert result.latency.p50 == pytest.approx(1000, rel=0.1)
    elif not requests:
        assert result.latency.p50 is None


def test_the_closed_model_counts_requests_that_never_end(tmp_path: Path, port: int) -> None:
    changes = {"level": 5.0, "duration": 1.5, "timeout": 1.0}
    result = put(tmp_path, port, "/", *["/never"] * 4, **CLOSED | changes)
    assert min(result.errors.timeout, result.errors.unfinished) >= 4
    assert result.requests + result.errors.total == result.attempts
    assert result.seconds == 1.5


UVX = """#!/bin/sh
shift
exec env PYTHONPATH={path} {python} -m locust "$@"
"""  # Instead of uvx, which would need the internet; without this repository


def test_workers_that_others_start(tmp_path: Path, port: int) -> None:
    """By the printed command: workers get the locustfiles and the load from the master."""
    uvx = tmp_path / "bin" / "uvx"
    uvx.parent.mkdir()
    uvx.write_text(UVX.format(path=TOOLS / "locust", python=sys.executable))
    uvx.chmod(0o755)
    env = os.environ | {"PATH": f"{uvx.parent}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    (command,) = locust.worker_commands(["127.0.0.1"], 2).values()
    with (tmp_path / "worker").open("w") as log:
        worker = spawn(["sh", "-c", command], cwd=tmp_path, env=env, output=log)
        try:
            load = load_spec(tmp_path, port, "/", "/wrong", threads=2)
            results = [locust.generate(load, workers=["127.0.0.1"]) for _ in range(2)]
        finally:
            stop(worker, grace=1)
    assert [(one.requests, one.errors) for one in results] == [(100, Errors(status=100))] * 2
    assert all(sum(one.windows) == pytest.approx(100, abs=5) for one in results)


def test_a_server_out_of_reach_of_the_workers(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="out of reach"):
        locust.generate(load_spec(tmp_path, 1, "/"), workers=["192.0.2.1"])


def test_an_interrupt_leaves_no_process(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; "
        "from bench.generators.locust_program import generate; "
        "from tests.loads import load_spec; "
        "generate(load_spec(Path(sys.argv[1]), 9, '/', duration=60.0, threads=2))"
    )
    log = tmp_path / "log"
    with log.open("w") as output:
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, stderr=output
        )
        assert wait_until(lambda: len(mine(tmp_path)) == 4, timeout=20)
        child.send_signal(signal.SIGINT)
        child.wait(20)
    assert mine(tmp_path) == []


def mine(folder: Path) -> list[psutil.Process]:
    """Processes that have a folder among their arguments."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(str(folder) in argument for argument in process.cmdline()):
                found.append(process)
    return found
