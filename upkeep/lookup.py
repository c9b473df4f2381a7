"""Looks figures up in the published results, by the words of a comment in a text."""

import shlex
from collections.abc import Mapping, Sequence

from bench.analysis.estimates import Difference, between_runs
from bench.analysis.figures import FIGURES, Row, key_of, table_of
from bench.analysis.words import ratio_text
from harness.errors import UsageError
from upkeep.reference import published, published_rows

# The options that name another figure, to divide by
OTHER = "per per-result per-level per-case case"


def words_of(
    text: str, count: int, flags: set[str], names: str
) -> tuple[list[str], dict[str, str]]:
    """The first ``count`` words of a comment, and its options: ``flags`` and ``names`` with =."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{text}: {error}") from error
    given, options = words[:count], {}
    for word in words[count:]:
        name, equals, value = word.partition("=")
        if not (name in names.split() if equals else name in flags):
            raise UsageError(f"{text}: unknown option {word!r}")
        options[name] = value
    if len(given) < count:
        raise UsageError(f"{text}: {count} words are needed, as upkeep/markers.py explains")
    return given, options


def known(figure: str) -> str:
    """The name of a figure that there is."""
    if figure not in FIGURES:
        raise UsageError(f"there is no figure {figure!r}, only {', '.join(FIGURES)}")
    return figure


def rows_at(result: str, level: str, case: str | None) -> list[Row]:
    """The rows of a published result, at one level in one case."""
    run = published(result)
    cases = [one.name for one in run.workload.case]
    if case is None and len(cases) > 1:
        raise UsageError(f"{result} has several cases: add case=… of {', '.join(cases)}")
    at = [row for row in published_rows(result) if f"{row.level:g}" == level]
    found = [row for row in at if row.case == (case or cases[0])]
    if not found:
        raise UsageError(f"{result} has nothing at level {level} in case {case or cases[0]!r}")
    return found


def row_of(result: str, server: str, level: str, case: str | None) -> Row:
    """The row of a server."""
    for row in rows_at(result, level, case):
        if row.target == server:
            return row
    raise UsageError(f"{result} has no {server} at level {level}")


def value_of(result: str, row: Row, figure: str) -> float | None:
    """A figure; None if it is over the timeout."""
    if FIGURES[known(figure)].unit == "ms" or figure in row.estimates:
        return row.value(figure)
    raise UsageError(f"{result} has no {figure}")


def rows_compared(given: Sequence[str], options: Mapping[str, str]) -> tuple[Row, Row]:
    """The row of a figure, and that of ``per=``."""
    result, server, level = given[:3]
    base, case = options.get("per-result", result), options.get("case")
    other_level, other_case = options.get("per-level", level), options.get("per-case", case)
    row = row_of(result, server, level, case)
    return row, row_of(base, options["per"], other_level, other_case)


def relative(given: Sequence[str], options: Mapping[str, str]) -> Difference:
    """A figure's ratio to that of ``per=``."""
    found = difference(given, options)
    if found is None:
        raise UsageError(f"{' '.join(given)} and {options['per']}: there is no ratio")
    return found


def difference(given: Sequence[str], options: Mapping[str, str]) -> Difference | None:
    """The logarithm of a figure's ratio; None if one is unknown, or was measured only once."""
    result, figure, base = given[0], given[3], options.get("per-result", given[0])
    if published(base).place != published(result).place:
        raise UsageError(f"{result} and {base} are of different machines, and cannot be compared")
    row, other = rows_compared(given, options)
    if figure not in row.estimates or figure not in other.estimates:
        return None
    if base != result:
        return between_runs(other.estimates[figure].values, row.estimates[figure].values)
    places = [(one.case, one.level) for one in (row, other)]
    table = table_of(published(result), figure, places)
    return table.difference(*(key_of(one.target, one.case, one.level) for one in (row, other)))


def ratio_words(found: Difference, error: float | None) -> str:
    """A ratio, with an interval that is wrong with the chance ``error`` if that is given."""
    return ratio_text(found.ratio(error)) if error else f"{found.ratio().value:.2f}"
