"""The sections of the report: a run each."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Literal

from bench.analysis import words
from bench.analysis.caveats import caveats
from bench.analysis.estimates import Kind
from bench.analysis.figures import Figure, ranking
from bench.analysis.standings import Row, rows_of
from bench.records.measurement import Measurement
from bench.records.result import Run
from bench.report.charts import Chart, charts_of
from bench.report.values import Values, values_of
from bench.report.wording import kind_text

# How a server stands beside the best one: it is the best, or tied with it; either is too noisy to
# tell; or it is behind
Standing = Literal["best", "tied", "noisy", ""]


@dataclass(frozen=True)
class Section:
    """A run as the report shows it: on its page, and in a column of the overview."""

    name: str  # Unique in the report, and safe in file names and links
    page: str  # The name of its page: runs of the same workload share one
    heading: str  # What distinguishes it on its page: the machine
    run: Run
    rows: list[Row]
    values: Values
    charts: list[Chart]

    @property
    def title(self) -> str:
        return self.run.workload.title

    @property
    def is_of_all(self) -> bool:
        """Whether its workload compares all servers in one case: not those of a published run,
        nor with other settings or attacks beside it."""
        workload = self.run.workload
        return workload.servers == ["all"] and len(workload.case) == 1

    @property
    def level(self) -> float:
        """The level that is shown first.

        In the closed model it is the fewest connections, where they wait for each other least; for
        the capacity it is the strictest limit; at a given rate it is the highest.
        """
        load = self.run.workload.load
        return min(load.levels) if load.seeks_most else max(load.levels)

    @property
    def case(self) -> str:
        """The case that is shown first."""
        return self.run.workload.case[0].name

    @property
    def ranked(self) -> Figure:
        """The figure that its servers are ranked by."""
        return ranking(self.run.workload.load)

    @property
    def kinds(self) -> list[Kind]:
        """What the figures that its servers are ranked by have beside them."""
        ranked = self.ranked.name
        return [row.estimates[ranked].kind for row in self.rows if ranked in row.estimates]

    @cached_property
    def first_rows(self) -> dict[str, Row]:
        """The rows of the level and case that are shown first, by server."""
        return {
            row.target: row
            for row in self.rows
            if row.level == self.level and row.case == self.case
        }

    @cached_property
    def _ranked_values(self) -> dict[str, float]:
        """What the servers with a rank are ranked by, from the best one on, as rows are."""
        return {
            target: value
            for target, row in self.first_rows.items()
            if (value := row.value(self.ranked.name)) is not None
            and isfinite(value)
            and not row.unranked
        }

    def ranked_value(self, target: str) -> float | None:
        """The figure that the server is ranked by; None if it has no rank."""
        return self._ranked_values.get(target)

    @property
    def best(self) -> str | None:
        return next(iter(self._ranked_values), None)

    def share(self, target: str) -> float | None:
        """How good the server is relative to the best, from 0 to 1; None if it has no rank."""
        value = self.ranked_value(target)
        if value is None or self.best is None:
            return None
        worse, better = sorted((value, self._ranked_values[self.best]))
        return worse / better if better else 1.0

    def standing(self, target: str) -> Standing:
        """How it stands beside the best server.

        A wide interval includes the best figure whatever the server's own is: that is no tie.
        """
        best = self.best
        if best is None or target not in self._ranked_values:
            return ""
        rows = [self.first_rows[one] for one in (target, best)]
        groups, of_best = (set(row.tied.split()) for row in rows)
        if target != best and not groups & of_best:
            return ""
        if any(row.is_noisy(self.ranked.name) for row in rows):
            return "noisy"
        return "best" if target == best else "tied"

    def missing(self, target: str) -> str:
        """Why a server of the run has no figure."""
        wrong = any(one.target == target and one.disqualifies for one in self.run.failures)
        return "wrong response" if wrong else "no result"

    @property
    def caveats(self) -> list[str]:
        """Why its figures may not hold elsewhere, or at all."""
        found = caveats(self.run)
        if self.run.workload.repeats == 1:
            found.append("measured once: without repeats, servers cannot be ranked")
        if self.run.project.endswith("+"):
            found.append("the code had changes that are in no commit")
        return found

    @property
    def warmup(self) -> str:
        """The warm-up before each measurement."""
        seconds = self.run.workload.warmup
        if seconds is not None:
            return f"after {words.number(seconds)} s of warm-up" if seconds else "without warm-up"
        if any(one.warmup and one.warmup.judged for one in self.run.measurements):
            return "after a warm-up until the rate was level"
        return "after the warm-up that the server's manifest sets"

    @property
    def head(self) -> str:
        """What a column of the overview shows: ``requests/s, 50 connections``."""
        unit = {"rate": "requests/s", "p99": "p99"}[self.ranked.name]
        parts = [unit, self.level_text(self.level)]
        if len(self.run.workload.case) > 1:
            parts.append(self.case)
        return ", ".join(parts)

    def level_text(self, level: float) -> str:
        """A level with its unit."""
        return words.at_level(self.run.workload.load, level)

    @property
    def failures(self) -> dict[tuple[str, str, bool], list[str]]:
        """Turns without a figure, by server, reason and whether a response was wrong."""
        found = defaultdict(list)
        for one in self.run.failures:
            trial = f"{self.level_text(one.level)}, {one.case}"
            found[one.target, one.why, one.disqualifies].append(f"{trial}, repeat {one.repeat}")
        return found

    def measured(self, target: str) -> dict[str, Measurement]:
        """A measurement of a server in each case."""
        return {one.case: one for one in self.run.measurements if one.target == target}

    def text(self, row: Row, name: str) -> str:
        unit = " %" if name == "failed" and row.errors.total else ""
        return f"{words.figure_text(row.value(name))}{unit}"


def sections_of(runs: Sequence[Run]) -> list[Section]:
    """One section for each run; workloads for all servers come first."""
    sections: list[Section] = []
    for run in runs:
        page = re.sub(r"[^a-z0-9]+", "-", run.workload_name.lower()).strip("-") or "run"
        if page == "index":  # the overview has that name
            page += "-workload"
        name, names = page, {other.name for other in sections}
        while name in names:
            name += "-again"
        heading = f"{kind_text(run)}, {run.machine.system}, kernel {run.machine.kernel}"
        if heading in [other.heading for other in sections if other.page == page]:
            heading += f" ({run.id})"
        rows = rows_of(run)
        values = values_of(run, rows)
        charts = charts_of(run, rows, values)
        sections.append(Section(name, page, heading, run, rows, values, charts))
    return sorted(sections, key=lambda section: not section.is_of_all)
