"""What a measurement is doubted for, and how long a server is warmed up."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import psutil
import pytest

from bench.analysis.standings import rows_of
from bench.analysis.warning_words import _WORDS, doubts, text_of
from bench.generators.interface import LoadResult
from bench.measuring.gates import warnings
from bench.measuring.meter import Meter, Usage, _refused
from bench.measuring.process_tree import Tree
from bench.measuring.steadiness import drift
from bench.measuring.warmup import come_to_rest, warm_up
from bench.records.histogram import Histogram
from bench.records.measurement import Checked, Clients, Cpu, Errors, Pressure, Sources, Warmup
from bench.records.warning import GATES, SPOILING, Warning
from bench.workloads.workload import load_workload
from harness.system.processes import wait_until
from tests import runs

pytestmark = pytest.mark.quick

CLOSED, RATE = load_workload("text"), load_workload("under-attack")
CAPACITY = load_workload("agents-capacity")
IDLE = Pressure(machine=0.1)
CONTENDED = Pressure(machine=0.7, cpu_some=0.26, steal=0.011)
FREE = Pressure(machine=0.7, cpu_some=0.24, steal=0.009)
CONNECTIONS = CLOSED.load.levels[0]
PINNED = {"server": [0], "load": [1], "database": [1]}
UNPINNED_DATABASE = {"server": [0], "load": [1]}
ELSEWHERE = {"database": None, "upstream": None}


def loaded(milliseconds: float = 5.0, **changes: Any) -> LoadResult:
    """A load of 10 s on 50 connections that were always in service, at 5 ms for each request."""
    histogram = Histogram()
    histogram.add([milliseconds * 1000] * 1000)
    given: dict[str, Any] = {
        "command": ["load"], "requests": 100_000, "seconds": 10.0, "errors": Errors(), "cpu": 2.0,
        "observer": 0.0, "output": "", "histogram": histogram.encoded(), "attempts": 100_000,
        "windows": [2500] * 40,
    }  # fmt: skip
    return LoadResult(**given | changes)


def used(pressure: Pressure | None = None, **cpu: float | None) -> Usage:
    """A server that was busy, on a machine with nothing else to do."""
    given = {"server": 9.0, "database": 2.0, "upstream": 0.0, "generator": 2.0, "observer": 0.0}
    own = Cpu.model_validate(given | cpu)
    return Usage(cpu=own, machine=14.0, pressure=pressure or Pressure(machine=0.7))


def source(counted: int, least: int = 100_000) -> Sources:
    return Sources(name="postgresql", counted=counted, least=least)


def mostly_failed(counted: int) -> dict[str, Any]:
    """At a given rate, 90% of the requests fail; a source counts so many operations."""
    result = loaded(requests=10_000, errors=Errors(status=90_000))
    return {"workload": RATE, "result": result, "sources": [source(counted, 10_000)]}


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({}, []),
        # Just beyond what each gate lets pass, and just within
        ({"usage": used(CONTENDED, other=1.1)}, ["busy", "waiting", "steal"]),
        ({"usage": used(FREE, other=0.9)}, []),
        ({"usage": used(generator=8.1, observer=0.31)}, ["generator-busy", "observer"]),
        ({"usage": used(upstream=8.1, server=None)}, ["upstream-busy"]),
        ({"usage": used(server=12.6, database=12.7)}, ["database-busy", "more-cores"]),
        ({"usage": used(server=12.4, database=12.3, generator=7.9, observer=0.29)}, []),
        ({"usage": used(upstream=7.9)}, []),
        ({"usage": used(database=6.1), "cores": PINNED}, ["crowded"]),
        ({"usage": used(database=5.9), "cores": PINNED}, []),
        ({"usage": used(IDLE, server=4.9)}, ["latency-bound"]),
        ({"usage": used(IDLE, server=5.1)}, []),
        ({"workload": RATE, "usage": used(Pressure(machine=0.91))}, ["overload"]),
        ({"workload": RATE, "usage": used(Pressure(machine=0.89))}, []),
        ({"workload": RATE, "result": loaded(20.0, lag=2.1)}, ["generator-late"]),
        ({"workload": RATE, "result": loaded(20.0, lag=1.9)}, []),
        ({"workload": RATE, "result": loaded(0.1, lag=1.6)}, ["generator-late"]),
        ({"workload": RATE, "result": loaded(0.1, lag=1.4)}, []),
        ({"workload": CAPACITY, "level": 100, "result": loaded(1.0, lag=10.1)}, ["generator-late"]),
        ({"workload": CAPACITY, "level": 100, "result": loaded(1.0, lag=9.9)}, []),
        ({"result": loaded(4.4, busiest=0.81)}, ["generator-busy", "absent-load"]),
        ({"result": loaded(errors=Errors(status=1100))}, ["failed"]),
        ({"result": loaded(4.6, busiest=0.79, errors=Errors(status=900))}, []),
        ({"result": loaded(4.25, attempts=110_000)}, ["absent-load"]),  # those in flight count half
        ({"result": loaded(4.34, attempts=110_000)}, []),
        ({"sources": [source(201_100)]}, ["other-clients"]),
        ({"sources": [source(200_900)]}, []),
        (mostly_failed(600_000), ["other-clients", "failed"]),
        (mostly_failed(120_000), ["failed"]),  # the failed ones may have used it, too
        ({"result": loaded(windows=[100] * 4 + [120] * 8)}, ["unsteady"]),
        ({"result": loaded(clients=Clients(count=50, starved=3, fairness=0.9))}, ["starved"]),
        ({"checked": Checked(during=0, after=9, unanswered=9)}, ["uncompared"]),
        ({"warmup": Warmup(seconds=120, requests=9)}, ["never-level"]),
        # Where others can take a server's cores: by databases of the user's own, too, which are
        # never pinned, unless they are on another machine
        ({"usage": used(CONTENDED), "cores": PINNED}, ["steal"]),
        ({"usage": used(CONTENDED), "cores": {"server": [0]}}, ["waiting", "steal"]),
        ({"usage": used(CONTENDED), "cores": PINNED | {"load": [0]}}, ["waiting", "steal"]),
        ({"usage": used(CONTENDED), "cores": UNPINNED_DATABASE}, ["waiting", "steal"]),
        ({"usage": used(CONTENDED, **ELSEWHERE), "cores": UNPINNED_DATABASE}, ["steal"]),
        ({"usage": used(database=6.1), "cores": PINNED | {"database": [2]}}, []),
        # What is no reason to doubt this load
        ({"usage": used(Pressure(machine=0.91))}, []),
        ({"usage": used(server=1.0, database=0.9)}, []),  # others are busy
        ({"usage": used(server=17.0), "workload": RATE}, []),
        # Its last answers come 3 s after the end of a load of 5 s.
        ({"workload": RATE, "result": loaded(windows=[50] * 20 + [0] * 12)}, []),
        ({"warmup": Warmup(seconds=2, requests=9, judged=False)}, []),
    ],
)  # fmt: skip
def test_each_gate(given: dict[str, Any], kinds: list[str]) -> None:
    usual: dict[str, Any] = {
        "workload": CLOSED, "case": CLOSED.case[0], "level": CONNECTIONS, "result": loaded(),
        "usage": used(), "checked": Checked(during=9, after=9, unanswered=0), "sources": [],
        "warmup": Warmup(seconds=4, requests=9, until_level=0), "cores": {},
    }  # fmt: skip
    assert [one.kind for one in warnings(**usual | given)] == kinds


@pytest.mark.parametrize(
    ("windows", "change"),
    [
        ([1000] * 6, None),
        ([1000, 1000, 500, 500, 1040, 1040], None),
        ([1000, 1000, 500, 500, 1100, 1100], 0.1),
        ([1000, 1000, 1000, 1000, 900, 900, 900], -0.1),
        ([1000, 1000, 1000, 900, 900], None),  # too short
        ([900, 1300, 500, 500, 1000, 1400], None),  # too noisy to tell
        ([3, 3, 4, 4, 4, 4], None),  # too few to tell
        ([0, 0, 5, 5, 5, 5], 1.0),
        ([1000, 100, 0, 0, 0, 0], None),  # one burst, and then nothing
        ([1000, 900, 0, 0, 0, 0], -1.0),
        ([3, 3, 2, 0, 0, 0], -1.0),
        ([0] * 6, None),
    ],
)
def test_a_load_is_level_if_its_last_third_is_like_its_first(
    windows: list[int], change: float | None
) -> None:
    assert drift(windows) == (None if change is None else pytest.approx(change, abs=0.001))


def test_a_rate_is_of_the_time_of_the_load() -> None:
    """Answers that come after its end are no throughput."""
    load = RATE.load.model_copy(update={"levels": [10_000], "duration": 10.0})
    late = loaded(windows=[2500] * 20 + [0] * 20 + [2500] * 20, seconds=15.0)
    assert late.rate_of(load, 10_000) == 5_000
    assert loaded().rate_of(CLOSED.load, CONNECTIONS) == 10_000
    odd = load.model_copy(update={"duration": 2.1})  # no whole number of windows
    assert loaded().rate_of(odd, 10_000) == 10_000


def server(rates: Any) -> Any:
    """Puts load on a server whose rate depends on the seconds that it has been under load."""
    clock = [0.0]

    def burst(seconds: float) -> LoadResult:
        began, clock[0] = clock[0], clock[0] + seconds
        windows = [round(rates(began + at / 4) / 4) for at in range(round(4 * seconds))]
        return loaded(seconds=seconds, requests=sum(windows), windows=windows)

    def put(seconds: float) -> list[LoadResult]:
        return [burst(1) for _ in range(round(seconds))]

    return put


@pytest.mark.parametrize(
    ("rates", "seconds", "until"),
    [
        (lambda _: 1500, 2, 0),
        (lambda _: 20, 16, 80),  # too few requests to tell at once
        (lambda at: 3000 - 100 * (at // 1), 2, 0),  # slower, as the machine is: no warm-up
        (lambda at: 2000 + 500 * (at // 1 % 2), 4, None),  # a neighbour comes and goes
        (lambda at: min(400 * at, 4000), 32, None),
        (lambda at: 1000 * (1 + at) ** 0.3, 60, None),
    ],
    ids=["an interpreter", "a slow one", "a fall", "a neighbour", "a compiler", "never level"],
)
def test_the_warm_up_goes_on_until_the_rate_is_level(
    rates: Any, seconds: float, until: int | None
) -> None:
    stages, warmup = warm_up(server(rates), 1)
    assert sum(one.seconds for one in stages) == warmup.seconds == seconds
    assert warmup.requests == sum(one.requests for one in stages)
    if until is not None:
        assert warmup.until_level == until
    assert (warmup.until_level is None) == (seconds == 60)


@pytest.mark.parametrize(("busy", "rests"), [(1.5, 1.75), (60, 3)])
def test_a_server_comes_to_rest_before_it_is_measured(
    busy: float, rests: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    clock = SimpleNamespace(monotonic=lambda: now, sleep=sleep)
    monkeypatch.setattr("bench.measuring.warmup.time", clock)
    server: Any = SimpleNamespace(cpu=lambda: min(now, busy))
    come_to_rest(server)
    assert now == rests


def test_the_whole_machine_is_metered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    none = psutil.cpu_times()._replace(**dict.fromkeys(psutil.cpu_times()._fields, 0.0))
    some = none._replace(user=9.0, idle=11.0, softirq=2.0, steal=1.0, guest=1.0)
    times, clock = iter((none, some)), iter((0.0, 10.0))
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(times))
    monkeypatch.setattr(psutil, "cpu_count", lambda: 2)
    monkeypatch.setattr("bench.measuring.meter.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("bench.measuring.meter.time.process_time", lambda: 0.0)
    stalls = tmp_path / "cpu"
    monkeypatch.setattr("bench.measuring.meter._STALLS", stalls)
    stalls.write_text("some avg10=1.00 avg60=1.00 avg300=1.00 total=1000000\n")
    meter = Meter(Tree(), Tree(), Tree(), Tree())
    stalls.write_text("some avg10=1.00 avg60=1.00 avg300=1.00 total=3500000\nfull total=9\n")
    usage = meter.usage(loaded())
    assert usage.machine == 8
    assert usage.cpu.other == 6, "the load generator used 2"
    assert usage.pressure == Pressure(cpu_some=0.25, steal=0.05, softirq=0.1, machine=0.4)
    assert usage.other_share == pytest.approx(0.3)


@pytest.mark.parametrize(("drops_rest", "seconds"), [(True, 2), (False, 8)])
def test_what_happens_after_a_load(
    drops_rest: bool, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The load generator may go on when its time is over, with requests that count or not.

    Either way, how contended the CPUs were is of the load: a task always waited in it.
    """
    waited = Mock(side_effect=[0.0, 1e9, 0.0])
    monkeypatch.setattr("bench.measuring.meter._waited", waited)
    server: Any = Mock(roots=("busy",), cpu=Mock(side_effect=[1.0, 3.0, 9.0]))
    meter = Meter(server, Tree(), Tree(), Tree(), 0.01, drops_rest=drops_rest)
    assert wait_until(lambda: waited.call_count == 2, timeout=30)
    usage = meter.usage(loaded(cpu=0.0))
    assert usage.cpu.server == seconds
    assert usage.pressure.cpu_some == 1


def test_connections_that_no_server_accepted(tmp_path: Path) -> None:
    (tmp_path / "netstat").write_text(
        "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 1 7\nIpExt: InNoRoutes\nIpExt: 3\n"
    )
    assert _refused(tmp_path / "netstat") == 7
    assert _refused(tmp_path / "none") == 0


def test_warnings_of_repeats_are_merged_with_the_most_severe_first() -> None:
    repeats = runs.a_run().measurements[:3]
    for one, share in zip(repeats, (0.1, 0.13, 0.11), strict=True):
        one.warnings = [Warning(kind="failed", values={"share": share}), runs.busy(12)]
    assert [(one.severity, one.text) for one in doubts(repeats)] == [
        ("spoils", "the machine was busy: other programs used 12% of it (repeats 1, 2 and 3)"),
        ("note", "10–13% of the requests failed (repeats 1, 2 and 3)"),
    ]
    steady = Warning(kind="unsteady", values={"share": 0.1, "direction": "lower"})
    assert "10% lower in the last third" in text_of(steady)
    assert set(GATES) | set(SPOILING) <= set(_WORDS)


def test_the_cores_that_programs_used_are_told() -> None:
    run = runs.short()
    row = rows_of(run)[0]
    middle = sorted(one.rate for one in run.measurements if one.target == row.target)[1]
    assert row.value("cores") == pytest.approx(0.95)
    assert row.value("generator_cores") == pytest.approx(0.1)
    assert row.value("rest_cores") == pytest.approx(0.01)
    assert row.value("starved") is None, "nothing is known of the clients"
    assert row.value("per_core") == pytest.approx(middle / 0.95, rel=0.01)
