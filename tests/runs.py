"""A sample run for reports, with an example of everything that can happen."""

from functools import cache
from typing import Any

from bench.analysis.compare import changes
from bench.records.histogram import Histogram
from bench.records.measurement import Checked, Cpu, Errors, Latency, Measurement, Memory, Step
from bench.records.result import Failure, Machine, Run, ServerInfo
from bench.records.warning import Warning
from bench.workloads.load import Load, Model
from bench.workloads.workload import Case, Changes, Workload

SERVERS = {
    "flask/gunicorn": ("python", "threads", 900.0),
    "flask/gevent": ("python", "greenlets", 2000.0),
    "tornado/tornado": ("python", "event loop", 2010.0),
    "express/express": ("node", "event loop", 4000.0),
}
MACHINE = Machine(
    system="Debian",
    kernel="6.1",
    cpu="a CPU",
    cores=2,
    memory=8_000_000_000,
    governor=None,
    limits={"somaxconn": "4096"},
)


def busy(percent: float) -> Warning:
    return Warning(kind="busy", values={"share": percent / 100})


def info(name: str, language: str, model: str) -> ServerInfo:
    return ServerInfo(
        title=name,
        language=language,
        framework=name,
        homepage="https://example.org",
        model=model,
        folder=f"{language}/{name}",
        run=["serve", "--bind", "{host}:{port}"],
        fingerprint="ab",
        state="cd",
        versions={name: "1.2.3"},
        lines=123,
        drivers={"MongoDB": "a driver"},
    )


@cache
def histogram(milliseconds: int) -> str:
    """A thousand response times, up to this one."""
    counts = Histogram()
    counts.add(range(milliseconds, 1001 * milliseconds, milliseconds))
    return counts.encoded()


def measurement(
    target: str, case: str, level: float, repeat: int, rate: float, model: Model = "closed"
) -> Measurement:
    crowded = target == "flask/gunicorn" and level > 100
    requests = round(rate * 10)
    return Measurement(
        target=target,
        case=case,
        model=model,
        level=level,
        repeat=repeat,
        started="2026-01-02T03:04:05+00:00",
        command=["h2load"],
        settings={"WORKERS": case[0]},
        seconds=10,
        requests=requests,
        rate=rate,
        latency=Latency(p50=1.5, p75=2, p90=3, p95=4, p99=level / rate * 1e3, p99_9=9, max=99),
        histogram=histogram(round(1e5 / rate)),
        steps=steps(rate) if model == "capacity" else [],
        processes=int(case[0]),
        threads=4,
        errors=Errors(timeout=7, read=2) if crowded and repeat == 1 else Errors(),
        cpu=Cpu(server=9.5, database=None, generator=1, observer=0.1),
        memory=Memory(rest=40_000_000, peak=60_000_000),
        checked=Checked(during=9, after=3, unanswered=0),
        sources=[],
        warnings=[busy(10 + repeat)] if target == "flask/gevent" else [],
        output="",
    )


def _noise(server: int, repeat: int) -> float:
    """Of the repeat, 1%; and of the server in it, half a percent."""
    return (1 + repeat / 100) * (1 + (server * repeat % 3 - 1) / 200)


def steps(rate: float) -> list[Step]:
    """A search that ends at this rate."""
    return [
        Step(rate=one, seconds=5, requests=9, achieved=one, p99=p99, failed=0, held=held)
        for one, p99, held in ((rate / 2, 9, True), (rate, 80, True), (rate * 2, None, False))
    ]


def a_failure(
    target: str, why: str, *, case: str = "1 worker", level: float = 10, disqualifies: bool = True
) -> Failure:
    """In the first repeat."""
    return Failure(
        target=target, case=case, level=level, repeat=1, why=why, disqualifies=disqualifies
    )


def a_run(
    name: str = "text",
    levels: tuple[float, ...] = (10, 200),
    cases: tuple[str, ...] = ("1 worker", "2 workers"),
    repeats: int = 3,
    complete: bool = True,
    model: Model = "closed",
    machine: Machine = MACHINE,
    **workload: Any,
) -> Run:
    """Of all servers; ``workload`` are further fields of the workload."""
    return Run(
        id=f"{name}-1",
        workload_name=name,
        workload=Workload(
            title=f"The {name} workload",
            about="What it tells.",
            paths=["/index"],
            load=Load(model=model, levels=list(levels), duration=10),
            case=[Case(name=case, settings={"WORKERS": case[0]}) for case in cases],
            repeats=repeats,
            quick=Changes(),
            **workload,
        ),
        quick=repeats == 1,
        command=["just", "bench", name],
        started="2026-01-02T03:04:05+00:00",
        complete=complete,
        project="0123456789abcdef",
        machine=machine.model_copy(),
        versions={"h2load": "1.52.0"},
        servers={
            target: info(target.split("/")[0], language, model)
            for target, (language, model, _) in SERVERS.items()
        },
        measurements=[
            measurement(target, case, level, repeat, rate * (1 + at) * _noise(place, repeat), model)
            for place, (target, (_, _, rate)) in enumerate(SERVERS.items())
            for at, case in enumerate(cases)
            for level in levels
            for repeat in range(1, repeats + 1)
            if (target, case) != ("tornado/tornado", "2 workers") or (level == 200 and repeat == 2)
        ],
        failures=[
            a_failure(
                "tornado/tornado", "it did not start", case=case, level=level, disqualifies=False
            )
            for case in cases[1:]
            for level in levels
        ],
    )


def short(name: str = "text", **given: Any) -> Run:
    """In one case, at one level."""
    return a_run(name, levels=(10,), cases=("1 worker",), **given)


def verdicts(before: Run, after: Run) -> dict[str, str]:
    """What is said of each server's rate, of runs of one case at one level."""
    return {one.target: one.verdict for one in changes(before, after) if one.figure == "rate"}
