"""Locust's loads against servers that stall, fail and close connections."""

import asyncio
import contextlib
import http.client
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.generators import capacity, locust
from bench.generators.load import Bodies, LoadResult, LoadSpec
from bench.histogram import merged
from bench.result import Errors
from bench.warnings import drift
from harness.errors import UsageError
from harness.paths import ROOT, TOOLS
from harness.system.ports import free_port
from harness.system.processes import spawn, stop, wait_until
from harness.toolchains.wheel import install_wheel
from tests import distant
from tests.distant import FREEZE, PERIOD

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module", autouse=True)
def _locust() -> None:
    install_wheel("locust", TOOLS / "locust")


_requests = itertools.count(1)
_STATUSES = {b"/wrong": 500, b"/moved": 302}
_BODIES = {b"/short": b"h", b"/long": b"hi!", b"/image": b"hi" * 500}


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests as their paths say."""
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
            is_thousandth = next(_requests) % 1000 == 0
            if path == b"/closed" or (path == b"/sometimes" and is_thousandth):
                break
            if path == b"/never" or (path == b"/rarely" and is_thousandth):
                await reader.read()
                break
            if path == b"/late":
                await asyncio.sleep(1)
            body = _BODIES.get(path, b"hi")
            head = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n"
            head += b"Connection: close\r\n\r\n" if path == b"/closing" else b"\r\n"
            writer.write(head % (_STATUSES.get(path, 200), len(body)) + body)
            if path == b"/closing":
                break
    writer.close()


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """Serve in a thread; yield the port."""
    loop = asyncio.new_event_loop()

    async def start() -> tuple[asyncio.Server, int]:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
        return server, server.sockets[0].getsockname()[1]

    server, port = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for one in asyncio.all_tasks(loop):
            one.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def load_spec(folder: Path, port: int, *paths: str, **changes: Any) -> LoadSpec:
    defaults: dict[str, Any] = {
        "url": f"http://127.0.0.1:{port}",
        "paths": paths,
        "random": False,
        "model": "constant rate",
        "level": 200.0,
        "duration": 1.0,
        "requests": None,
        "calls": 1,
        "timeout": 5.0,
        "threads": 1,
        "headers": {},
        "folder": folder,
    }
    return LoadSpec(**defaults | changes)


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
    with distant.serving("frozen", "127.0.0.1", port := free_port()):
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
    monkeypatch.setattr(capacity, "MOST_STEPS", 1)
    monkeypatch.setattr(capacity._Search, "_recover", lambda _: None)
    spec = load_spec(tmp_path, 9, "/", model="capacity", level=100)
    (step,) = capacity.search(spec, lambda _: result).steps
    assert (step.p99, step.held) == (found["p99"], False)


def test_errors_by_kind(tmp_path: Path) -> None:
    """With two processes, whose CPU time counts too."""
    paths = ("/", "/closed", "/wrong", "/late", "/short", "/moved", "/", "/")
    load = load_spec(tmp_path, 0, *paths, timeout=0.5, threads=2, sizes=[2] * len(paths))
    with serving() as port:
        result = locust.generate(replace(load, url=f"http://127.0.0.1:{port}"))
    assert result.errors == Errors(read=25, status=50, timeout=25, short=25)
    assert (result.requests, result.attempts) == (75, 200)
    assert len(result.per_second) == int(result.seconds)
    assert 0 < sum(result.per_second) <= 75
    assert result.bodies == Bodies(received=175, due=200, least=200, most=200)
    assert result.cpu > details(result.output)["cpu"] > 0
    assert result.seconds == pytest.approx(1.5, abs=0.4)


def test_a_server_that_answers_no_more(tmp_path: Path) -> None:
    """The seconds without a response count: they say that the rate was not steady."""
    paths = ["/"] * 20 + ["/late"] * 120
    load = load_spec(tmp_path, 0, *paths, level=20.0, duration=7.0, timeout=0.5, threads=2)
    with serving() as port:
        result = locust.generate(replace(load, url=f"http://127.0.0.1:{port}"))
    assert result.errors == Errors(timeout=120)
    assert result.per_second == [20, 0, 0, 0, 0, 0, 0]
    assert drift(result.per_second) == -1


def test_failures_count_as_longer_than_any_response(tmp_path: Path) -> None:
    with serving() as port:
        result = locust.generate(load_spec(tmp_path, port, *["/"] * 9, "/closed"))
    assert result.latency
    assert result.latency.p90 == pytest.approx(result.latency.p75, abs=2000)
    assert (result.latency.p95, result.latency.p99, result.latency.max) == (None, None, None)
    assert len(merged([result.histogram])) == result.requests == 180


def test_the_closed_model(tmp_path: Path) -> None:
    """Each connection waits for its response: the late ones have 10 in the time."""
    with serving() as port:
        load = load_spec(tmp_path, port, "/late", model="closed", level=6.0, duration=3.5)
        result = locust.generate(load)
    assert result.requests == 6 * 3
    assert (result.attempts, result.errors.total, result.seconds) == (6 * 4, 0, 3.5)
    assert result.per_second[0] == 0
    assert result.latency
    assert result.latency.p50 == pytest.approx(1000, rel=0.1)


def test_the_closed_model_counts_requests_that_never_end(tmp_path: Path) -> None:
    with serving() as port:
        load = load_spec(tmp_path, port, "/", *["/never"] * 4, model="closed", level=5.0)
        result = locust.generate(replace(load, duration=1.5, timeout=1.0))
    assert result.errors.timeout >= 4
    assert result.errors.unfinished >= 4
    assert result.requests + result.errors.total == result.attempts
    assert result.seconds == 1.5


def test_the_closed_model_with_a_number_of_requests(tmp_path: Path) -> None:
    with serving() as port:
        load = load_spec(tmp_path, port, "/", model="closed", level=7.0, threads=2)
        result = locust.generate(replace(load, duration=None, requests=501))
    assert (result.requests, result.attempts) == (501, 501)


def test_connections_at_a_rate(tmp_path: Path) -> None:
    """After a failure, the rest of a connection's requests is not sent."""
    load = load_spec(tmp_path, 0, "/", model="connection rate", level=40.0, calls=5)
    with serving() as port:
        right = locust.generate(replace(load, url=f"http://127.0.0.1:{port}"))
        closed = locust.generate(replace(load, url=f"http://127.0.0.1:{port}", paths=["/closed"]))
    assert (right.requests, right.errors.total) == (200, 0)
    assert right.seconds == pytest.approx(1, abs=0.5)
    assert closed.errors == Errors(read=40, connect=160)


def test_refused_connections(tmp_path: Path) -> None:
    result = locust.generate(load_spec(tmp_path, free_port(), "/"))
    assert result.errors == Errors(connect=200)
    assert result.requests == 0
    assert result.latency
    assert result.latency.p50 is None


def test_workers_that_others_start(tmp_path: Path) -> None:
    """As on other machines: workers get the locustfile and the load from the master."""
    options = locust.worker_options("127.0.0.1", 2)
    with serving() as port, (tmp_path / "worker").open("w") as log:
        worker = spawn([*locust.program(), *options], cwd=tmp_path, env=os.environ, output=log)
        try:
            load = load_spec(tmp_path, port, "/", "/wrong", threads=2)
            result = locust.generate(load, workers=["127.0.0.1"])
            assert worker.wait(20) == 0
        finally:
            stop(worker)
    assert result.requests == 100
    assert result.errors == Errors(status=100)


def test_a_server_out_of_reach_of_the_workers(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="out of reach"):
        locust.generate(load_spec(tmp_path, 1, "/"), workers=["192.0.2.1"])


def test_an_interrupt_leaves_no_process(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from bench.generators import locust; "
        "from tests.test_locust import load_spec; "
        "locust.generate(load_spec(Path(sys.argv[1]), 9, '/', duration=60.0, threads=2))"
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
