"""No load generator hides a request that fails, is late or never ends."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.generators import capacity
from bench.generators.interface import LoadResult, LoadSpec
from bench.measuring.responses import WrongAnswer, body_sizes, require_bodies
from bench.records.histogram import Histogram
from bench.records.measurement import Clients, Errors
from tests.attempts import attempts
from tests.loads import SIZE, Put, load_spec

pytestmark = [pytest.mark.alone, pytest.mark.timeout(180)]


@pytest.fixture
def put(put: Put) -> Put:
    """Puts a load on the server, in the closed model by default."""
    return partial(put, model="closed", level=10, timeout=1.0)


def kinds(result: LoadResult) -> set[str]:
    """The kinds of its errors."""
    return {kind for kind, count in result.errors.model_dump().items() if count}


@pytest.mark.parametrize(
    "changes",
    [
        {"duration": 2.5},
        {"duration": None, "requests": 4000},
        {"model": "connection rate", "level": 400, "calls": 5},
        {"model": "constant rate", "level": 2000, "timeout": 0.5},
    ],
    ids=["closed", "counted", "connection rate", "constant rate"],
)
@attempts(3)
def test_one_request_in_a_thousand_is_never_answered(put: Put, changes: dict[str, Any]) -> None:
    result = put("/rarely", **changes)
    failed = result.errors.unfinished
    assert failed >= 1
    assert failed >= result.requests // 1001 - result.errors.connect
    # Connections that wait for ever send nothing else.
    assert kinds(result) <= {"unfinished", "connect"}
    assert result.latency is not None
    assert result.latency.max is None


@pytest.mark.parametrize(
    ("path", "errors"),
    [
        ("/moved", {"status"}),
        ("/late", {"timeout", "unfinished"}),
        ("/sometimes", {"read"}),
    ],
)
@attempts(3)
def test_failures_by_kind_in_the_closed_model(put: Put, path: str, errors: set[str]) -> None:
    result = put(path, duration=1.5, timeout=0.7)
    assert kinds(result) <= errors
    assert kinds(result) & {"status", "timeout", "read"}
    assert result.latency is not None
    assert result.latency.max is None
    if path == "/sometimes":
        assert result.errors == Errors(read=10)
        (lost,) = (one for one in result.warnings if one.kind == "connections-lost")
        assert lost.values == {"count": 10, "clients": 10}


@pytest.mark.parametrize("path", ["/", "/unnamed"])
@attempts(3)
def test_a_closed_load_without_failures(put: Put, path: str) -> None:
    """Nor is a status without a reason phrase one."""
    result = put(path, duration=2.0)
    assert result.errors == Errors()
    assert result.latency is not None
    assert result.latency.max is not None
    assert 0 <= result.attempts - result.requests <= 10
    assert len(result.per_second) == 2
    assert sum(result.per_second) == pytest.approx(result.requests, rel=0.05)
    assert result.bodies is not None
    assert result.bodies.received >= result.bodies.due == result.requests * SIZE
    assert result.cpu / result.attempts < 50e-6
    assert [one for one in result.warnings if one.kind != "generator-costly"] == []
    assert result.clients
    assert (result.clients.count, result.clients.starved) == (10, 0)
    assert result.clients.fairness == pytest.approx(1, abs=0.1)


def test_clients_that_get_no_answer_are_counted(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no failed requests yet."""
    monkeypatch.setattr("bench.generators.connections.PATIENCE", 1.0)
    result = put("/never", level=5, duration=2.0, timeout=9.0)
    assert result.clients == Clients(count=5, starved=5, fairness=None)
    assert (result.requests, result.errors.total) == (0, 0)


@attempts(3)
def test_a_server_that_closes_each_connection_or_is_not_there(put: Put) -> None:
    """After its end, h2load may open yet another connection: then it has to be stopped.

    A client that is about to do so can have a request on each connection.
    """
    result = put("/closing", duration=1.0)
    assert (result.errors, result.requests > 10) == (Errors(), True)
    assert 0 <= result.attempts - result.requests <= 2 * 10
    result = put("/", port=9, duration=1.0)
    assert (result.errors, result.requests) == (Errors(connect=10), 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"duration": 0.5},
        {"duration": None, "requests": 999},
        {"model": "connection rate", "level": 50, "duration": 0.5, "calls": 20},
    ],
    ids=["closed", "counted", "connection rate"],
)
@pytest.mark.parametrize(
    ("paths", "right"),
    [
        (["/", "/unnamed"], True),
        (["/", "/image", "/image"], True),
        (["/moved", "/"], True),
        ([*["/"] * 9, "/short"], False),
        (["/long"], False),
        (["/unnamed-long"], False),
    ],
)
def test_bytes_show_wrong_bodies(
    put: Put, paths: list[str], right: bool, changes: dict[str, Any]
) -> None:
    sizes = [1000 if path == "/image" else SIZE for path in paths]
    result = put(*paths, sizes=sizes, random=True, **changes)
    if right:
        require_bodies(result)
    else:
        with pytest.raises(WrongAnswer, match="should have had at least"):
            require_bodies(result)


def test_the_random_order_is_seeded(tmp_path: Path, put: Put) -> None:
    orders = []
    for seed in (1, 1, 2):
        paths = [f"/{at}" for at in range(50)]
        put(*paths, random=True, requests=50, duration=None, seed=seed)
        orders.append((tmp_path / "paths.txt").read_text().split())
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) != orders[0]


Server = Callable[[LoadSpec], LoadResult]
Search = Callable[[Server], LoadResult]


def simulated(best: float, *, failed: int = 0, busiest: float = 0.5, closed: float = 1) -> Server:
    """A server with a capacity of ``best`` requests/s; 50 clients get ``closed`` times that."""

    def put(spec: LoadSpec) -> LoadResult:
        rate = best * closed if spec.load.model == "closed" else spec.level
        histogram, requests = Histogram(), int(rate * (spec.duration or 0))
        in_time = spec.load.model == "closed" or rate <= best
        histogram.add([10_000 if in_time else 500_000] * requests)
        return LoadResult(
            command=["load"],
            requests=requests,
            seconds=spec.duration or 0,
            histogram=histogram.encoded(),
            errors=Errors(timeout=failed),
            cpu=1,
            output="",
            observer=0,
            busiest=busiest,
        )

    return put


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    """A search that does not wait until the server has recovered."""
    monkeypatch.setattr(capacity._Search, "_recover", lambda _: None)
    spec = load_spec(tmp_path, 9, "/", model="capacity", level=100, duration=5.0)
    return partial(capacity.search, spec)


@pytest.mark.parametrize(
    ("best", "server"),
    [
        *((best, {}) for best in (7.3, 900.0, 23_456.0)),
        (1.05, {}),  # rates have one digit after the point: none is left between 1 and 1.1
        (23_456.0, {"failed": 50}),
        *((1000.0, {"closed": closed}) for closed in (0.2, 0.5, 1.5, 5, 60)),
    ],
)
def test_the_capacity_is_found(search: Search, best: float, server: dict[str, Any]) -> None:
    """In spite of failures, if they are fewer than one in a thousand, and even if it is far from
    the rate of a closed load."""
    result = search(simulated(best, **server))
    closed = server.get("closed", 1)
    assert result.capacity is not None
    assert best / 1.06 <= result.capacity <= best
    assert len(result.steps) <= (10 if closed == 1 else 2 * capacity.MOST_RATES + 4)
    assert result.warnings == []
    held = [step for step in result.steps if step.held]
    assert max(step.rate for step in held) == result.capacity
    assert all("500 ms" in step.why for step in result.steps if not step.held)
    answered = sum(step.requests for step in result.steps) + int(best * closed * 2)
    assert result.requests + result.others == answered
    assert result.share == pytest.approx(result.requests / answered)


def test_one_unlucky_step_does_not_bound_the_capacity(search: Search) -> None:
    steps = iter([False])
    put, unlucky = simulated(1000), simulated(0.1)

    def sometimes(spec: LoadSpec) -> LoadResult:
        lucky = spec.load.model == "closed" or next(steps, True)
        return (put if lucky else unlucky)(spec)

    result = search(sometimes)
    assert result.capacity == pytest.approx(1000, rel=0.06)
    assert [step.held for step in result.steps[:3]] == [False, True, True]


@pytest.mark.parametrize(
    ("server", "kind"),
    [({"busiest": 0.95}, "generator-limited"), ({"failed": 20}, "nothing-held")],
)
def test_what_is_no_capacity_says_so(search: Search, server: dict[str, Any], kind: str) -> None:
    result = search(simulated(1000, **server))
    assert [one.kind for one in result.warnings] == [kind]
    assert len(result.steps) <= 2 * capacity.MOST_RATES
    if "failed" in server:
        assert result.capacity == 0
        assert all("% of the requests failed" in step.why for step in result.steps)


def test_the_steps_of_a_capacity_show_failures(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server never answers the second request of a connection."""
    monkeypatch.setattr(capacity, "MOST_RATES", 1)
    monkeypatch.setattr(capacity, "_AGREEING", 1)
    result = put("/", "/never", model="capacity", level=100, duration=0.5, timeout=0.5)
    assert all(step.failed > 0 for step in result.steps)
    assert result.errors.unfinished > 0


def test_the_sizes_of_bodies(tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(b"12345")
    assert body_sizes(["/index", "/files/a%20b.png"], tmp_path) == [len("Hello, World!"), 5]


def test_a_load_beside_many_open_descriptors(put: Put) -> None:
    """As held by the connections of an attack; select(2) takes no descriptor above 1023."""
    held = [os.dup(0) for _ in range(1100)]
    try:
        assert put("/", duration=0.5).requests > 0
    finally:
        for each in held:
            os.close(each)
