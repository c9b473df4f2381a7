"""Combines the measurements of a run into one row per server, case and level."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from bench.result import Errors, Measurement, Run
from bench.statistics import Estimate, estimate
from bench.words import listed

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Figure:
    """A figure that is taken from each measurement."""

    name: str
    title: str
    unit: str
    of: Callable[[Measurement], float | None]
    better: Literal["more", "less"] = "less"


def _failed(measurement: Measurement) -> float | None:
    return _share(measurement.errors.total, measurement.requests)


def _share(failed: int, answered: int) -> float | None:
    return 100 * failed / (failed + answered) if failed + answered else None


def _latency(percentile: str) -> Callable[[Measurement], float | None]:
    return lambda one: getattr(one.latency, percentile) if one.latency else None


def _cpu(of: str) -> Callable[[Measurement], float | None]:
    def per_request(one: Measurement) -> float | None:
        seconds = getattr(one.cpu, of)
        return None if seconds is None or not one.requests else seconds / one.requests * 1e6

    return per_request


def _memory(when: str) -> Callable[[Measurement], float | None]:
    return lambda one: getattr(one.memory, when) / 1e6 if one.memory else None


FIGURES = {
    one.name: one
    for one in (
        Figure("rate", "Requests per second", "requests/s", lambda one: one.rate, "more"),
        Figure("p50", "Median latency", "ms", _latency("p50")),
        Figure("p99", "Latency, 99th percentile", "ms", _latency("p99")),
        Figure("max", "Longest latency", "ms", _latency("max")),
        Figure("failed", "Failed requests", "%", _failed),
        Figure("cpu", "CPU time of the server", "µs/request", _cpu("server")),
        Figure("database_cpu", "CPU time of the database", "µs/request", _cpu("database")),
        Figure("generator_cpu", "CPU time of the load generator", "µs/request", _cpu("generator")),
        Figure(
            "rest",
            "Memory at rest",
            "MB",
            _memory("rest"),
        ),
        Figure(
            "peak",
            "Memory at its peak",
            "MB",
            _memory("peak"),
        ),
    )
}


@dataclass(frozen=True)
class Row:
    """One server, in one case, at one level, over all repeats."""

    target: str
    case: str
    level: float
    repeats: int
    estimates: dict[str, Estimate]
    """By figure; unknown ones are absent."""
    errors: Errors
    """Of all repeats."""
    warnings: list[str]
    tied: str
    """The letters of its groups: servers with a common letter have overlapping intervals of
    requests/s."""

    def median(self, figure: str) -> float | None:
        """The median of a figure; None if it is unknown."""
        found = self.estimates.get(figure)
        return found.median if found else None


def rows_of(run: Run) -> list[Row]:
    """All rows: in the workload's order of cases and levels, then by falling rate."""
    measured: dict[tuple[str, float], dict[str, list[Measurement]]]
    measured = defaultdict(lambda: defaultdict(list))
    for one in run.measurements:
        measured[one.case, one.level][one.target].append(one)
    cases = [case.name for case in run.workload.case]
    rows = []
    for case, level in sorted(measured, key=lambda key: (cases.index(key[0]), key[1])):
        found = measured[case, level]
        rates = {name: estimate([one.rate for one in repeats]) for name, repeats in found.items()}
        letters = tied(rates)
        for target in sorted(rates, key=lambda name: -rates[name].median):
            rows.append(_row(found[target], letters[target]))
    return rows


def tied(rates: dict[str, Estimate]) -> dict[str, str]:
    """The letters of each server's groups; empty if it is not tied with another.

    A group is a maximal set of servers whose intervals all overlap. Such intervals have a point in
    common: the highest of their lower bounds. A server can be in several groups.
    """
    lows = sorted({rate.low for rate in rates.values() if rate.low is not None}, reverse=True)
    groups: list[set[str]] = []
    for point in [Estimate(low, low, low, 1) for low in lows] or rates.values():
        group = {name for name, rate in rates.items() if rate.overlaps(point)}
        if len(group) > 1 and not any(group <= other for other in groups):
            groups.append(group)
    return {
        name: " ".join(_letter(at) for at, group in enumerate(groups) if name in group)
        for name in rates
    }


def _letter(at: int) -> str:
    return (_letter(at // 26 - 1) if at >= 26 else "") + chr(ord("A") + at % 26)


def _row(repeats: list[Measurement], letters: str) -> Row:
    first = repeats[0]
    estimates = {}
    for name, figure in FIGURES.items():
        values = [value for one in repeats if (value := figure.of(one)) is not None]
        if values:
            estimates[name] = estimate(values)
    errors = Errors(
        **{kind: sum(getattr(one.errors, kind) for one in repeats) for kind in Errors.model_fields}
    )
    share = _share(errors.total, sum(one.requests for one in repeats))
    if share is not None:
        # Over all requests: a median of three repeats would hide the errors of one.
        estimates["failed"] = Estimate(share, None, None, len(repeats))
    return Row(
        target=first.target,
        case=first.case,
        level=first.level,
        repeats=len(repeats),
        estimates=estimates,
        errors=errors,
        warnings=_warnings(repeats),
        tied=letters,
    )


def _warnings(repeats: Iterable[Measurement]) -> list[str]:
    """Each distinct warning, with its repeats and the range of its numbers."""
    found: dict[tuple[str, ...], dict[int, list[str]]] = defaultdict(dict)
    for one in repeats:
        for warning in one.warnings:
            found[tuple(_NUMBER.split(warning))][one.repeat] = _NUMBER.findall(warning)
    return [
        f"{_merged(words, at.values())} "
        f"({'repeat' if len(at) == 1 else 'repeats'} {listed(map(str, at))})"
        for words, at in found.items()
    ]


def _merged(words: tuple[str, ...], numbers: Iterable[list[str]]) -> str:
    ranges = (sorted(set(same), key=float) for same in zip(*numbers, strict=True))
    shown = ("–".join(same[:: len(same) - 1 or 1]) for same in ranges)
    return "".join(word + number for word, number in zip_longest(words, shown, fillvalue=""))
