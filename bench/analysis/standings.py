"""Combines the measurements of a run into one row per server, case and level."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from bench.analysis.blocks import Repeats, Table
from bench.analysis.estimates import ERROR, Estimate, Ratio
from bench.analysis.figures import (
    FIGURES,
    PLAIN,
    Figure,
    failed_share,
    most_of,
    ranking,
    values_by_server,
)
from bench.analysis.warning_words import Doubt, doubts
from bench.records.measurement import Errors, Measurement
from bench.records.result import Run

# The share of an interval's high that its low must reach for its figure to be ranked
_STEADY = 0.75


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
    others = len(FIGURES) - len(PLAIN) - 1
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
        if name not in PLAIN and (values := values_by_server(measured, figure))
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
    for name in PLAIN:
        if known := [value for one in repeats if (value := FIGURES[name].of(one)) is not None]:
            value = statistics.fmean(known)
            if name == "failed":  # of all requests: a mean would hide how many a repeat had
                value = failed_share(errors.total, sum(one.requests for one in repeats)) or 0.0
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
