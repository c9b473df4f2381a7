"""The figures of a measurement: what is reported and compared."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bench.analysis.blocks import Repeats
from bench.records.measurement import Measurement
from bench.workloads.load import Load


@dataclass(frozen=True)
class Figure:
    """A figure that is taken from each measurement."""

    name: str
    title: str
    unit: str
    of: Callable[[Measurement], float | None]
    better: Literal["more", "less"] = "less"


def failed_share(failed: int, answered: int) -> float | None:
    """The percentage of requests that failed; None if there were none."""
    return 100 * failed / (failed + answered) if failed + answered else None


def _failed(one: Measurement) -> float | None:
    return failed_share(one.errors.total, one.requests)


def _latency(percentile: str) -> Callable[[Measurement], float | None]:
    def milliseconds(one: Measurement) -> float | None:
        if one.latency is None:
            return None
        value: float | None = getattr(one.latency, percentile)
        return math.inf if value is None else value

    return milliseconds


def _cpu(of: str) -> Callable[[Measurement], float | None]:
    def per_request(one: Measurement) -> float | None:
        seconds = getattr(one.cpu, of)
        return None if seconds is None or not one.requests else seconds / one.requests * 1e6

    return per_request


def _cores(*programs: str) -> Callable[[Measurement], float | None]:
    """The cores that some programs used; unknown ones count as none beside others."""

    def used(one: Measurement) -> float | None:
        known = [value for name in programs if (value := getattr(one.cpu, name)) is not None]
        return sum(known) / one.seconds if known and one.seconds else None

    return used


def _per_core(one: Measurement) -> float | None:
    return one.requests / one.cpu.server if one.cpu.server else None


def _of(part: str, name: str, unit: float = 1.0) -> Callable[[Measurement], float | None]:
    """A value of a part that may be unknown."""

    def found(one: Measurement) -> float | None:
        value = getattr(getattr(one, part), name, None)
        return None if value is None else value / unit

    return found


FIGURES = {
    one.name: one
    for one in (
        Figure("rate", "Throughput", "requests/s", lambda one: one.rate, "more"),
        Figure("p50", "Median latency", "ms", _latency("p50")),
        Figure("p90", "Latency, 90th percentile", "ms", _latency("p90")),
        Figure("p95", "Latency, 95th percentile", "ms", _latency("p95")),
        Figure("p99", "Latency, 99th percentile", "ms", _latency("p99")),
        Figure("p99_9", "Latency, 99.9th percentile", "ms", _latency("p99_9")),
        Figure("max", "Longest latency", "ms", _latency("max")),
        Figure("failed", "Failed requests", "%", _failed),
        Figure("cpu", "CPU time of the server", "µs/request", _cpu("server")),
        Figure("database_cpu", "CPU time of the database", "µs/request", _cpu("database")),
        Figure("upstream_cpu", "CPU time of the upstream", "µs/request", _cpu("upstream")),
        Figure("generator_cpu", "CPU time of the load generator", "µs/request", _cpu("generator")),
        Figure("per_core", "Requests per core-second", "requests", _per_core, "more"),
        Figure("cores", "Cores used by the server", "cores", _cores("server")),
        Figure("database_cores", "Cores used by the database", "cores", _cores("database")),
        Figure("generator_cores", "Cores used by the load generator", "cores", _cores("generator")),
        Figure(
            "rest_cores", "Cores used by the rest", "cores", _cores("upstream", "observer", "other")
        ),
        Figure(
            "until_level",
            "Requests until the rate was level",
            "requests",
            _of("warmup", "until_level"),
        ),
        Figure(
            "starved", "Clients without an answer for 5 s", "clients", _of("clients", "starved")
        ),
        Figure("fairness", "Fairness among clients", "(Jain)", _of("clients", "fairness"), "more"),
        Figure("refused", "Connections refused", "connections", lambda one: one.refused),
        Figure("rest", "Memory at rest", "MB", _of("memory", "rest", 1e6)),
        Figure("peak", "Memory at its peak", "MB", _of("memory", "peak", 1e6)),
    )
}


# Figures that are not compared: some may be 0, others follow from compared ones
PLAIN = {
    *("failed", "until_level", "starved", "fairness", "refused"),
    *("per_core", "cores", "database_cores", "generator_cores", "rest_cores"),
}


def ranking(load: Load) -> Figure:
    """The figure that servers are ranked by.

    At a constant rate every server that keeps up has the same requests/s, so p99 ranks them. Other
    latencies never do: in the closed model they follow from requests/s.
    """
    return FIGURES["p99" if load.model == "constant rate" else "rate"]


def values_by_server(measured: dict[str, list[Measurement]], figure: Figure) -> dict[str, Repeats]:
    """A figure's values, by server and repeat; unknown ones are absent."""
    found = {
        target: {one.repeat: value for one in repeats if (value := figure.of(one)) is not None}
        for target, repeats in measured.items()
    }
    return {target: values for target, values in found.items() if values}


def most_of(figure: Figure, load: Load) -> float:
    """The value that a latency over the timeout at least has."""
    return load.timeout * 1e3 if figure.unit == "ms" else math.inf
