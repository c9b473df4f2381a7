"""Looks values up in the published results; an error says what there is instead."""

from dataclasses import dataclass

from bench.analysis.estimates import ERROR, Difference, Estimate, between_runs
from bench.analysis.figures import FIGURES, Figure
from bench.analysis.standings import Row, key_of, table_of
from bench.analysis.words import ratio_text
from harness.errors import UsageError
from upkeep.reference import published, published_rows


def known(figure: str) -> Figure:
    """The figure of this name."""
    if figure not in FIGURES:
        raise UsageError(f"there is no figure {figure!r}, only {', '.join(FIGURES)}")
    return FIGURES[figure]


def rows_at(result: str, level: float, case: str | None) -> list[Row]:
    """The rows of the published result ``MACHINE/WORKLOAD`` at a level, in its only case or one."""
    cases = [one.name for one in published(result).workload.case]
    if case is None and len(cases) > 1:
        raise UsageError(f"{result} has several cases: add case=… of {', '.join(cases)}")
    wanted = case or cases[0]
    found = [row for row in published_rows(result) if (row.level, row.case) == (level, wanted)]
    if not found:
        raise UsageError(f"{result} has nothing at level {level:g} in case {wanted!r}")
    return found


def estimate_of(row: Row, figure: str) -> Estimate:
    """A figure of a row; its value is infinite if it is over the timeout."""
    if known(figure).name in row.estimates:
        return row.estimates[figure]
    raise UsageError(f"{row.target} has no {figure} at level {row.level:g}")


@dataclass(frozen=True)
class Place:
    """Where something was measured."""

    result: str
    server: str
    level: float
    case: str | None = None

    @property
    def row(self) -> Row:
        """All that was measured there."""
        for row in rows_at(self.result, self.level, self.case):
            if row.target == self.server:
                return row
        raise UsageError(f"{self.result} has no {self.server} at level {self.level:g}")


def difference(one: Place, other: Place, figure: str) -> Difference | None:
    """The logarithm of a figure's ratio; None if one is unknown, or was measured only once."""
    run = published(one.result)
    if published(other.result).place != run.place:
        raise UsageError(
            f"{one.result} and {other.result} are of different machines, and cannot be compared"
        )
    row, base = one.row, other.row
    if known(figure).name not in row.estimates or figure not in base.estimates:
        return None
    if one.result != other.result:
        return between_runs(base.estimates[figure].values, row.estimates[figure].values)
    table = table_of(run, figure, [(at.case, at.level) for at in (row, base)])
    return table.difference(*(key_of(at.target, at.case, at.level) for at in (row, base)))


def ratio_words(found: Difference, error: float | None = ERROR) -> str:
    """A ratio, with an interval that is wrong with the chance ``error`` if that is given."""
    return ratio_text(found.ratio(error)) if error else f"{found.ratio().value:.2f}"
