"""What stands between the comments of :mod:`upkeep.texts`.

A figure::

    <!-- figure: MACHINE/WORKLOAD SERVER/DEPLOYMENT LEVEL FIGURE -->1,234<!-- /figure -->

FIGURE is one of :data:`.figures.FIGURES`. Options follow it: ``interval`` adds the interval;
``case="2 workers"`` names a case, if there are several; ``per=SERVER/DEPLOYMENT`` gives the ratio
to another server, with its interval (``plain`` leaves that out), and ``per-result=``,
``per-level=`` and ``per-case=`` say where that one was measured, if elsewhere on the same machine.

Published claims, each that a server's figure is ``more`` or ``less`` than another's: their ratio
as published, the ratio here, and by its interval whether the claim holds. Options of the first line
are those of all lines. ``withdrawn="the reason"`` leaves a ratio without a verdict, where something
else than the two servers decides it::

    <!-- claims: MACHINE/WORKLOAD case="2 workers"
    The claim in words | PUBLISHED RATIO | SERVER LEVEL FIGURE more per=SERVER
    -->
    <!-- /claims -->

A table of all servers at a level, by falling rate, with the options ``case=`` and ``servers=A,B``::

    <!-- table: MACHINE/WORKLOAD LEVEL FIGURE,FIGURE -->
    <!-- /table -->

A summary: each server's first deployment, its lines of code, and a figure of several workloads,
with two significant digits::

    <!-- summary: MACHINE FIGURE WORKLOAD:LEVEL WORKLOAD:LEVEL -->
    <!-- /summary -->
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence

from bench.analysis.figures import FIGURES, Row, ratio, rows_of
from bench.analysis.words import figure_text, interval_text, number
from harness.errors import UsageError
from harness.servers.catalog import find_servers
from harness.servers.source import count_lines
from upkeep.reference import published

_Interval = tuple[float | None, float | None, float | None]
_Ratio = tuple[float, float | None, float | None]

_OTHER = "per per-result per-level per-case case"
"""The options that name another figure, to divide by."""


def _figure(words: str) -> str:
    given, options = _words(words, 4, {"interval", "plain"}, _OTHER)
    result, server, level, figure = given
    if "per" in options:
        return _ratio_text(_relative(given, options), "plain" not in options)
    row = _row(result, server, level, options.get("case"))
    if "interval" in options:
        return _with_interval(result, row, figure)
    return _text(_estimate(result, row, figure)[0])


def _claims(words: str) -> str:
    head, *lines = words.strip().splitlines()
    result, _, options = head.strip().partition(" ")
    rows = []
    for line in lines:
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3:
            raise UsageError(f"{line}: three parts with | between them are needed")
        text, then, claim = parts
        words = f"{result} {claim} {options}"
        given, named = _words(words, 4, {"more", "less"}, f"{_OTHER} withdrawn")
        if "per" not in named or ("more" in named) == ("less" in named):
            raise UsageError(f"{line}: `more` or `less` is needed, and per=SERVER")
        found = _relative(given, named)
        reason = named.get("withdrawn")
        verdict = f"*no verdict: {reason}*" if reason else _verdict(found, more="more" in named)
        rows.append([text, then, _ratio_text(found, interval=True), verdict])
    return _rendered(["Claim", "Published ratio", "Ratio here", "Verdict"], rows)


def _verdict(around: _Ratio, *, more: bool) -> str:
    _, low, high = around
    if low is None or high is None or low <= 1 <= high:
        return "cannot be told"
    return "**holds**" if (low > 1) == more else "**does not hold**"


def _relative(given: Sequence[str], options: Mapping[str, str]) -> _Ratio:
    """A figure's ratio to that of ``per=``, with its interval."""
    result, server, level, figure = given
    row = _row(result, server, level, options.get("case"))
    base = options.get("per-result", result)
    if published(base).place != published(result).place:
        raise UsageError(f"{result} and {base} are of different machines, and cannot be compared")
    case = options.get("per-case", options.get("case"))
    other = _row(base, options["per"], options.get("per-level", level), case)
    if base == result and (row.case, row.level) == (other.case, other.level):
        found = ratio(published(result), (row.case, row.level), figure, server, other.target)
        if found:
            return found.value, found.low, found.high
    return _ratio(_estimate(result, row, figure), _estimate(base, other, figure))


def _ratio(one: _Interval, other: _Interval) -> _Ratio:
    """A ratio of figures that share no table; its interval holds wherever both intervals hold."""
    (value, low, high), (base, base_low, base_high) = one, other
    if value is None or not base:
        raise UsageError("there is no ratio to a figure that is over the timeout, or 0")
    if low is None or high is None or not base_low or not base_high:
        return value / base, None, None
    return value / base, low / base_high, high / base_low


def _ratio_text(around: _Ratio, interval: bool) -> str:
    value, low, high = around
    if interval and low is not None and high is not None:
        return f"{value:.2f} ({low:.2f} to {high:.2f})"
    return f"{value:.2f}"


def _table(words: str) -> str:
    (result, level, names), options = _words(words, 3, set(), "case servers")
    figures = names.split(",")
    rows = _rows(result, level, options.get("case"))
    if "servers" in options:
        known = {row.target: row for row in rows}
        if unknown := [name for name in options["servers"].split(",") if name not in known]:
            raise UsageError(f"{result} has no {unknown[0]} at {level}")
        rows = [known[name] for name in options["servers"].split(",")]
    lines = []
    for row in rows:
        lines.append([row.target, *(_with_interval(result, row, name) for name in figures)])
    return _rendered(["Server", *map(_title, figures)], lines)


def _summary(words: str) -> str:
    machine, figure, *columns = words.split()
    if not columns:
        raise UsageError(f"{words}: a machine, a figure and workloads are needed")
    title = FIGURES[_known(figure)].title.removesuffix(" of the server")
    measured, heads = [], ["Server", "Lines"]
    for column in columns:
        workload, _, level = column.partition(":")
        name = f"{machine}/{workload}"
        measured.append((name, {row.target: row for row in _rows(name, level, None)}))
        path = published(name).workload.paths[0].partition("?")[0]
        heads.append(f"{title} of `{path}`, {FIGURES[figure].unit}")
    lines = []
    for server in find_servers().values():
        target = f"{server.name}/{server.manifest.deployment[0].name}"
        figures = [
            _rounded(_estimate(name, rows[target], figure)[0]) if target in rows else ""
            for name, rows in measured
        ]
        link = f"[{server.name}]({server.folder.parent.name}/{server.name})"
        lines.append([link, str(count_lines(server)), *figures])
    return _rendered(heads, lines)


def _rendered(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table whose first column has names, the others numbers."""
    aligned = ["---", *("---:" for _ in heads[1:])]
    return "\n" + "\n".join(f"| {' | '.join(line)} |" for line in (heads, aligned, *lines)) + "\n"


def _title(name: str) -> str:
    figure = _known(name)
    return f"{FIGURES[figure].title}, {FIGURES[figure].unit}"


def _words(text: str, count: int, flags: set[str], names: str) -> tuple[list[str], dict[str, str]]:
    """The positional words of a marker, and its options."""
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


def _known(figure: str) -> str:
    if figure not in FIGURES:
        raise UsageError(f"there is no figure {figure!r}, only {', '.join(FIGURES)}")
    return figure


def _rows(result: str, level: str, case: str | None) -> list[Row]:
    """The rows of a published result, at one level in one case."""
    run = published(result)
    cases = [one.name for one in run.workload.case]
    if case is None and len(cases) > 1:
        raise UsageError(f"{result} has several cases: add case=… of {', '.join(cases)}")
    at = [row for row in rows_of(run) if f"{row.level:g}" == level]
    found = [row for row in at if row.case == (case or cases[0])]
    if not found:
        raise UsageError(f"{result} has nothing at level {level} in case {case or cases[0]!r}")
    return found


def _row(result: str, server: str, level: str, case: str | None) -> Row:
    for row in _rows(result, level, case):
        if row.target == server:
            return row
    raise UsageError(f"{result} has no {server} at level {level}")


def _estimate(result: str, row: Row, figure: str) -> _Interval:
    """A figure with its interval; no value if it is over the timeout."""
    _known(figure)
    found = row.estimates.get(figure)
    if found is not None:
        return row.value(figure), found.low, found.high
    if FIGURES[figure].unit == "ms":
        return None, None, None
    raise UsageError(f"{result} has no {figure}")


def _with_interval(result: str, row: Row, figure: str) -> str:
    found = row.estimates.get(_known(figure))
    return interval_text(found) if found else _text(_estimate(result, row, figure)[0])


def _text(value: float | None) -> str:
    return "over the timeout" if value is None else figure_text(value)


def _rounded(value: float | None) -> str:
    return _text(value) if value is None else number(float(f"{value:.2g}"))


KINDS: Mapping[str, Callable[[str], str]] = {
    "figure": _figure,
    "claims": _claims,
    "table": _table,
    "summary": _summary,
}
"""The text for the words of each kind of comment; raises :class:`UsageError` if there is none."""
