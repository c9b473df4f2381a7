"""The sections of the page."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench import words
from bench.figures import Row, rows_of
from bench.report.charts import Chart, Values, charts_of, values_of
from bench.result import Run


def sections_of(runs: Sequence[Run]) -> list["Section"]:
    """One section for each run, each with a name that is safe in file names and links."""
    titles = [run.workload.title for run in runs]
    sections: list[Section] = []
    for run in runs:
        name = re.sub(r"[^a-z0-9]+", "-", run.workload_name.lower()).strip("-") or "run"
        while name in [other.name for other in sections]:
            name += "-again"
        title = run.workload.title
        if titles.count(title) > 1:
            title += f" ({run.id})"
        rows = rows_of(run)
        sections.append(Section(name, title, run, rows, values_of(run, rows), charts_of(run, rows)))
    return sections


@dataclass(frozen=True)
class Section:
    """A run as the page shows it."""

    name: str
    """Unique on the page."""
    title: str
    run: Run
    rows: list[Row]
    values: Values
    charts: list[Chart]

    @property
    def level(self) -> float:
        """The level that is shown first.

        In the closed model it is the fewest connections, where they wait for each other least; at a
        given rate it is the highest.
        """
        load = self.run.workload.load
        return min(load.levels) if load.model == "closed" else max(load.levels)

    @property
    def case(self) -> str:
        """The case that is shown first."""
        return self.run.workload.case[0].name

    def chosen(self, chart: Chart) -> Values:
        """The rows that a chart shows initially."""
        return [
            row
            for row in self.values
            if (chart.kind == "levels" or row["level"] == self.level)
            and (chart.kind == "cases" or row["case"] == self.case)
        ]

    def selection(self, chart: Chart) -> str:
        """The level and case of those rows, as text."""
        level = words.at_level(self.run.workload.load, self.level)
        return {"bars": f"{level}, {self.case}", "levels": self.case, "cases": level}[chart.kind]

    def picture(self, chart: Chart) -> str:
        """The name of a chart's files, without the suffix."""
        return f"{self.name}-{chart.name}"

    @property
    def planned(self) -> int:
        """The number of turns of a complete run."""
        workload = self.run.workload
        each = len(workload.case) * len(workload.load.levels) * workload.repeats
        return each * len(self.run.servers)

    @property
    def failures(self) -> dict[tuple[str, str, bool], list[str]]:
        """Turns without a figure, by server, reason and whether a response was wrong."""
        found = defaultdict(list)
        for one in self.run.failures:
            turn = f"{words.at_level(self.run.workload.load, one.level)}, {one.case}"
            found[one.target, one.why, one.disqualifies].append(f"{turn}, repeat {one.repeat}")
        return found

    def settings(self, target: str) -> dict[str, str]:
        """The settings of a server, by case."""
        return {
            one.case: words.settings_words(one.settings)
            for one in self.run.measurements
            if one.target == target
        }
