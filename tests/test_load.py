"""No load generator hides a request that fails, is late or never ends."""

import os
from pathlib import Path
from typing import Any

import pytest

from bench.generators import capacity, generate
from bench.generators.interface import LoadResult, LoadSpec
from bench.measuring.responses import WrongAnswer, body_sizes, require_bodies
from bench.records.histogram import Histogram
from bench.records.measurement import Clients, Errors
from tests.attempts import attempts
from tests.loads import load_spec

pytestmark = [pytest.mark.alone, pytest.mark.timeout(180)]

SIZE = 2  # The length of the body of the server's responses


def put(folder: Path, port: int, *paths: str, **changes: Any) -> LoadResult:
    defaults = {"model": "closed", "level": 10, "timeout": 1.0, "sizes": [SIZE] * len(paths)}
    return generate(load_spec(folder, port, *paths, **defaults | changes))


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({"duration": 2.5}, {"unfinished"}),
        ({"duration": None, "requests": 4000}, {"unfinished"}),
        ({"model": "connection rate", "level": 400, "calls": 5}, {"unfinished"}),
        ({"model": "constant rate", "level": 2000, "timeout": 0.5}, {"unfinished"}),
    ],
    ids=["closed", "counted", "connection rate", "constant rate"],
)
@attempts(3)
def test_one_request_in_a_thousand_is_never_answered(
    tmp_path: Path, port: int, changes: dict[str, Any], kinds: set[str]
) -> None:
    result = put(tmp_path, port, "/rarely", **changes)
    errors = result.errors.model_dump()
    failed = sum(errors[kind] for kind in kinds)
    assert failed >= 1
    assert failed >= result.requests // 1001 - result.errors.connect
    # Connections that wait for ever send nothing else.
    assert {kind for kind, count in errors.items() if count} <= kinds | {"connect"}
    assert result.latency is not None
    assert result.latency.max is None


@pytest.mark.parametrize(
    ("path", "errors"),
    [
        ("/wrong", {"status"}),
        ("/moved", {"status"}),
        ("/late", {"timeout", "unfinished"}),
        ("/sometimes", {"read"}),
    ],
)
@attempts(3)
def test_failures_by_kind_in_the_closed_model(
    tmp_path: Path, port: int, path: str, errors: set[str]
) -> None:
    result = put(tmp_path, port, path, duration=2.5, timeout=0.7)
    found = {kind for kind, count in result.errors.model_dump().items() if count}
    assert found <= errors
    assert found & {"status", "timeout", "read"}
    assert result.latency is not None
    assert result.latency.max is None
    if path == "/sometimes":
        assert result.errors == Errors(read=10)
        (lost,) = (one for one in result.warnings if one.kind == "connections-lost")
        assert lost.values == {"count": 10, "clients": 10}


@attempts(3)
def test_a_closed_load_without_failures(tmp_path: Path, port: int) -> None:
    result = put(tmp_path, port, "/", duration=2.0)
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


def test_clients_that_get_no_answer_are_counted(tmp_path: Path, port: int) -> None:
    """They are no failed requests yet."""
    result = put(tmp_path, port, "/never", level=5, duration=6.0, timeout=9.0)
    assert result.clients == Clients(count=5, starved=5, fairness=None)
    assert (result.requests, result.errors.total) == (0, 0)


@attempts(3)
def test_a_server_that_closes_each_connection_or_is_not_there(tmp_path: Path, port: int) -> None:
    """After its end, h2load may open yet another connection: then it has to be stopped.

    A client that is about to do so can have a request on each connection.
    """
    result = put(tmp_path, port, "/closing", duration=2.0)
    assert (result.errors, result.requests > 10) == (Errors(), True)
    assert 0 <= result.attempts - result.requests <= 2 * 10
    result = put(tmp_path, 9, "/", duration=2.0)
    assert (result.errors, result.requests) == (Errors(connect=10), 0)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"duration": None, "requests": 999},
        {"model": "connection rate", "level": 50, "calls": 20},
    ],
    ids=["closed", "counted", "connection rate"],
)
@pytest.mark.parametrize(
    ("paths", "right"),
    [
        (["/"], True),
        (["/", "/image", "/image"], True),
        (["/moved", "/"], True),
        (["/short"], False),
        (["/long"], False),
        (["/unnamed"], True),
        (["/unnamed-long"], False),
        ([*["/"] * 9, "/short"], False),
    ],
)
def test_bytes_show_wrong_bodies(
    tmp_path: Path, port: int, paths: list[str], right: bool, changes: dict[str, Any]
) -> None:
    sizes = [1000 if path == "/image" else SIZE for path in paths]
    result = put(tmp_path, port, *paths, sizes=sizes, random=True, **changes)
    if right:
        require_bodies(result)
    else:
        with pytest.raises(WrongAnswer, match="should have had at least"):
            require_bodies(result)


@pytest.mark.parametrize("model", ["closed", "constant rate"])
@attempts(3)
def test_another_status_can_be_the_good_one(tmp_path: Path, port: int, model: str) -> None:
    """Of requests with a body; the server answers the others with 500, and with 422 those."""
    refused = {"model": model, "statuses": (400, 422), "duration": 1.0}
    result = put(tmp_path, port, "/refusing", body='{"title": 7}', **refused)
    assert (result.errors, result.requests > 9) == (Errors(), True)
    result = put(tmp_path, port, "/refusing", **refused)
    assert (result.errors.status > 9, result.requests) == (True, 0)


@pytest.mark.parametrize("model", ["closed", "constant rate"])
@attempts(3)
def test_a_status_without_a_reason_phrase(tmp_path: Path, port: int, model: str) -> None:
    result = put(tmp_path, port, "/unnamed", model=model, duration=1.0)
    assert (result.errors, result.requests > 9) == (Errors(), True)


def test_the_random_order_is_seeded(tmp_path: Path, port: int) -> None:
    orders = []
    for seed in (1, 1, 2):
        paths = [f"/{at}" for at in range(50)]
        put(tmp_path, port, *paths, random=True, requests=50, duration=None, seed=seed)
        orders.append((tmp_path / "paths.txt").read_text().split())
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) != orders[0]


def simulated(best: float, *, failed: int = 0, busiest: float = 0.5, closed: float = 1) -> Any:
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
def no_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity._Search, "_recover", lambda _: None)


def capacity_spec(folder: Path) -> LoadSpec:
    return load_spec(folder, 9, "/", model="capacity", level=100, duration=5.0)


@pytest.mark.usefixtures("no_recovery")
@pytest.mark.parametrize(("best", "failed"), [(7.3, 0), (900.0, 0), (23_456.0, 0), (23_456.0, 50)])
def test_the_capacity_is_found(tmp_path: Path, best: float, failed: int) -> None:
    """In spite of failures, if they are fewer than one in a thousand."""
    result = capacity.search(capacity_spec(tmp_path), simulated(best, failed=failed))
    assert result.capacity is not None
    assert best / 1.06 <= result.capacity <= best
    assert len(result.steps) <= 10
    assert result.warnings == []
    held = [step for step in result.steps if step.held]
    assert max(step.rate for step in held) == result.capacity
    assert all("500 ms" in step.why for step in result.steps if not step.held)
    answered = sum(step.requests for step in result.steps) + int(best * 2)
    assert result.requests + result.others == answered
    assert result.share == pytest.approx(result.requests / answered)


@pytest.mark.usefixtures("no_recovery")
@pytest.mark.parametrize("closed", [0.2, 0.5, 1.5, 5])
def test_a_capacity_far_from_the_rate_of_a_closed_load_is_found(
    tmp_path: Path, closed: float
) -> None:
    result = capacity.search(capacity_spec(tmp_path), simulated(1000, closed=closed))
    assert result.capacity is not None
    assert 1000 / 1.06 <= result.capacity <= 1000
    assert len(result.steps) < 2 * capacity.MOST_RATES


@pytest.mark.usefixtures("no_recovery")
def test_one_unlucky_step_does_not_bound_the_capacity(tmp_path: Path) -> None:
    steps = iter([False])
    put, unlucky = simulated(1000), simulated(0.1)

    def sometimes(spec: LoadSpec) -> LoadResult:
        lucky = spec.load.model == "closed" or next(steps, True)
        result: LoadResult = (put if lucky else unlucky)(spec)
        return result

    result = capacity.search(capacity_spec(tmp_path), sometimes)
    assert result.capacity == pytest.approx(1000, rel=0.06)
    assert [step.held for step in result.steps[:3]] == [False, True, True]


@pytest.mark.usefixtures("no_recovery")
@pytest.mark.parametrize(
    ("server", "kind"),
    [({"busiest": 0.95}, "generator-limited"), ({"failed": 20}, "nothing-held")],
)
def test_what_is_no_capacity_says_so(tmp_path: Path, server: dict[str, Any], kind: str) -> None:
    result = capacity.search(capacity_spec(tmp_path), simulated(1000, **server))
    assert [one.kind for one in result.warnings] == [kind]
    assert len(result.steps) <= 2 * capacity.MOST_RATES
    if "failed" in server:
        assert result.capacity == 0
        assert all("% of the requests failed" in step.why for step in result.steps)


def test_the_steps_of_a_capacity_show_failures(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server never answers some requests."""
    monkeypatch.setattr(capacity, "MOST_RATES", 1)
    paths = ["/", "/", "/", "/never"]
    result = put(tmp_path, port, *paths, model="capacity", level=100, duration=1.5, timeout=0.5)
    assert all(step.failed > 0 for step in result.steps)
    assert result.errors.unfinished > 0


def test_the_sizes_of_bodies(tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(b"12345")
    assert body_sizes(["/index", "/files/a%20b.png"], tmp_path) == [len("Hello, World!"), 5]


def test_a_load_beside_many_open_descriptors(tmp_path: Path, port: int) -> None:
    """As held by the connections of an attack; select(2) takes no descriptor above 1023."""
    held = [os.dup(0) for _ in range(1100)]
    try:
        assert put(tmp_path, port, "/", duration=0.5).requests > 0
    finally:
        for each in held:
            os.close(each)
