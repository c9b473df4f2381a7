"""Combines the measurements of a run into one row per server, case and level."""

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from bench.analysis.blocks import Repeats, Table
from bench.analysis.estimates import ERROR, Estimate, Ratio
from bench.analysis.warning_words import Doubt, doubts
from bench.records.measurement import Errors, Measurement
from bench.records.result import Run
from bench.workloads.load import Load

# The share of an interval's high that its low must reach for its figure to be ranked
_STEADY = 0.75


@dataclass(frozen=True)
class Figure:
    """A figure that is taken from each measurement."""

    name: str
    title: str
    unit: str
    of: Callable[[Measurement], float | None]
    better: Literal["more", "less"] = "less"


def _share(failed: int, answered: int) -> float | None:
    return 100 * failed / (failed + answered) if failed + answered else None


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
        Figure("failed", "Failed requests", "%", lambda it: _share(it.errors.total, it.requests)),
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
_PLAIN = {
    *("failed", "until_level", "starved", "fairness", "refused"),
    *("per_core", "cores", "database_cores", "generator_cores", "rest_cores"),
}


def ranking(load: Load) -> Figure:
    """The figure that servers are ranked by.

    At a constant rate every server that keeps up has the same requests/s, so p99 ranks them. Other
    latencies never do: in the closed model they follow from requests/s.
    """
    return FIGURES["p99" if load.model == "constant rate" else "rate"]


@dataclass(frozen=True)
class Row:
    """One server, in one case, at one level, over all repeats."""

    target: str
    case: str
    level: float
    estimates: dict[str, Estimate]  # By figure; unknown ones are absent
    errors: Errors  # Of all repeats
    warnings: list[Doubt]
    repeats: list[Measurement] = field(repr=False, compare=False)  # What it is made of
    # The letters of its groups: servers with a common letter are not told apart by the ranking
    # figure
    tied: str = ""
    # The same among the servers that can be ranked; of one that cannot, "too noisy"
    group: str = ""
    # The ranking figure, divided by that of the first row of its case and level; None if nothing
    # is known of the noise
    relative: Ratio | None = None

    @property
    def unranked(self) -> bool:
        """Whether it has no rank: its warnings say why."""
        return any(doubt.unranks for doubt in self.warnings)

    @property
    def seen(self) -> tuple[int, int] | None:
        """The most processes and threads that the server had; None if they are unknown."""
        found = [one for one in self.repeats if one.processes]
        if not found:
            return None
        return max(one.processes for one in found), max(one.threads for one in found)

    @property
    def standing(self) -> str:
        """Its group, or that it has no rank."""
        return "not ranked" if self.unranked else self.group

    def value(self, figure: str) -> float | None:
        """A figure; None if it is unknown."""
        found = self.estimates.get(figure)
        return found.value if found else None

    def is_noisy(self, figure: str) -> bool:
        """Whether its interval is too wide to rank it, or there is none."""
        found = self.estimates[figure]
        steady = found.kind == "interval" and found.low >= _STEADY * found.high
        return not steady and math.isfinite(found.low)


def rows_of(run: Run) -> list[Row]:
    """All rows: in the workload's order of cases and levels, then from the best server on.

    The 95% of intervals and of letters are those of the whole run: of a run in which all servers
    are equal, at most 5% name any difference.
    """
    measured = measured_by_table(run)
    cases = [case.name for case in run.workload.case]
    keys = sorted(measured, key=lambda key: (cases.index(key[0]), key[1]))
    return [row for key in keys for row in _rows(measured[key], run)]


def table_of(run: Run, figure: str, places: Iterable[tuple[str, float]]) -> Table:
    """The servers of some cases and levels together, which have the run's blocks in common."""
    measured = measured_by_table(run)
    values: dict[str, Repeats] = {}
    for case, level in dict.fromkeys(places):
        found = values_by_server(measured[case, level], FIGURES[figure])
        values |= {key_of(target, case, level): of for target, of in found.items()}
    return _table(run, FIGURES[figure], values)


def key_of(target: str, case: str, level: float) -> str:
    """A server in :func:`table_of`."""
    return f"{target} {case} {level:g}"


def _table(run: Run, figure: Figure, values: dict[str, Repeats]) -> Table:
    """Half of the run's error is for the figure that ranks; each case and level has its share."""
    load = run.workload.load
    others = len(FIGURES) - len(_PLAIN) - 1
    share = ERROR / 2 if figure == ranking(load) else ERROR / 2 / others
    error = share / (len(run.workload.case) * len(load.levels))
    return Table(values, error, most_of(figure, load))


def measured_by_table(run: Run) -> dict[tuple[str, float], dict[str, list[Measurement]]]:
    """The measurements of each server, by case and level."""
    found: dict[tuple[str, float], dict[str, list[Measurement]]] = {}
    for one in run.measurements:
        found.setdefault((one.case, one.level), {}).setdefault(one.target, []).append(one)
    return found


def _rows(measured: dict[str, list[Measurement]], run: Run) -> list[Row]:
    """The rows of a case and level."""
    tables = {
        name: _table(run, figure, values)
        for name, figure in FIGURES.items()
        if name not in _PLAIN and (values := values_by_server(measured, figure))
    }
    ranked = ranking(run.workload.load)
    rows = [_row(repeats, tables) for repeats in measured.values()]
    table = tables.get(ranked.name)
    ordered = sorted(rows, key=lambda row: _place(row, ranked))
    if table is None:
        return ordered
    judged = [row.target for row in ordered if ranked.name in row.estimates and not row.unranked]
    noisy = [row.target for row in ordered if row.target in judged and row.is_noisy(ranked.name)]
    bounds = {row.target for row in rows if any(doubt.bounds for doubt in row.warnings)}
    tied = table.letters(judged, bounds)
    steady = table.letters([target for target in judged if target not in noisy], bounds)
    groups = steady | {target: "too noisy" if tied[target] else "" for target in noisy}
    return [
        replace(
            row,
            tied=tied[row.target],
            group=groups[row.target],
            relative=table.ratio(row.target, judged[0]),
        )
        if row.target in tied
        else row
        for row in ordered
    ]


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


def _place(row: Row, ranked: Figure) -> tuple[bool, float, str]:
    value = row.value(ranked.name)
    if value is None:
        return True, math.inf, row.target
    return row.unranked, -value if ranked.better == "more" else value, row.target


def _row(repeats: list[Measurement], tables: dict[str, Table]) -> Row:
    first = repeats[0]
    estimates = {
        name: table.estimate(first.target)
        for name, table in tables.items()
        if first.target in table
    }
    errors = Errors.sum([one.errors for one in repeats])
    for name in _PLAIN:
        if known := [value for one in repeats if (value := FIGURES[name].of(one)) is not None]:
            value = statistics.fmean(known)
            if name == "failed":  # of all requests: a mean would hide how many a repeat had
                value = _share(errors.total, sum(one.requests for one in repeats)) or 0.0
            estimates[name] = Estimate.without_interval(value, known)
    return Row(
        target=first.target,
        case=first.case,
        level=first.level,
        estimates=estimates,
        errors=errors,
        warnings=doubts(repeats),
        repeats=repeats,
    )
