"""What stands between the comments of :mod:`upkeep.texts`.

A figure::

    <!-- figure: MACHINE/WORKLOAD SERVER/DEPLOYMENT LEVEL FIGURE -->1,234<!-- /figure -->

FIGURE is one of :data:`.figures.FIGURES`. Options follow it: ``interval`` adds the interval;
``case="2 workers"`` names a case, if there are several; ``per=SERVER/DEPLOYMENT`` gives the ratio
to another server, with a 95% interval of its own (``plain`` leaves that out), and ``per-result=``,
``per-level=`` and ``per-case=`` say where that one was measured, if elsewhere on the same machine.

Published claims of a run: that a server's figure is ``more`` or ``less`` than another's, or the
``same`` but for 10%. They stand with their ratio as published, the ratio here, and three answers:
whether both can be compared (``unlike="the reason"`` says why not), whether the direction is that
of the claim, and whether the published ratio is within the interval. Options of the first line
are those of all lines::

    <!-- claims: MACHINE/WORKLOAD case="2 workers"
    The claim in words | PUBLISHED RATIO | SERVER LEVEL FIGURE more per=SERVER
    -->
    <!-- /claims -->

A table of all servers at a level, by falling rate, with the options ``case=`` and ``servers=A,B``::

    <!-- table: MACHINE/WORKLOAD LEVEL FIGURE,FIGURE -->
    <!-- /table -->

A summary: each server's first deployment, its lines of code, and a figure of several workloads,
with two significant digits. ``root=..`` is where the servers are, from the text's folder::

    <!-- summary: MACHINE FIGURE WORKLOAD:LEVEL WORKLOAD:LEVEL root=.. -->
    <!-- /summary -->

:mod:`upkeep.recorded` has the tables of recorded behaviours, :mod:`upkeep.reproduced` that of
workloads which were measured twice.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from bench.analysis.estimates import ERROR, Difference, between_runs
from bench.analysis.figures import FIGURES, Row, key_of, table_of
from bench.analysis.words import figure_text, interval_text, number, ratio_text
from harness.errors import UsageError
from harness.servers.catalog import find_servers
from harness.servers.source import count_lines
from upkeep.recorded import answers_table, deployments_table, servers_table
from upkeep.reference import published, published_rows
from upkeep.reproduced import reproduced

_Interval = tuple[float | None, float | None, float | None]

# The options that name another figure, to divide by
_OTHER = "per per-result per-level per-case case"
# How a claim says that a figure is, beside another
_WAYS = ("more", "less", "same")


def _figure(words: str) -> str:
    given, options = _words(words, 4, {"interval", "plain"}, _OTHER)
    result, server, level, figure = given
    if "per" in options:
        return _ratio_text(_relative(given, options), None if "plain" in options else ERROR)
    row = _row(result, server, level, options.get("case"))
    if "interval" in options:
        return _with_interval(result, row, figure)
    return _text(_estimate(result, row, figure)[0])


@dataclass(frozen=True)
class _Claim:
    """A published claim, and what was measured here."""

    text: str
    then: str
    way: str
    unlike: str | None
    found: Difference
    cpu: Difference | None

    @cached_property
    def chances(self) -> tuple[float, float]:
        """The p-values of the claim, and of its opposite, by one-sided tests.

        For ``same``, the first is of two tests that the ratio is within 10% (Schuirmann, 1987).
        """
        found = self.found
        if self.way == "same":
            within = max(found.chance_above(1 / _SAME), (-found).chance_above(1 / _SAME))
            return within, min(found.chance_above(_SAME), (-found).chance_above(_SAME))
        above, below = found.chance_above(1), (-found).chance_above(1)
        return (above, below) if self.way == "more" else (below, above)

    def cells(self, error: float, *, told: bool) -> list[str]:
        """Its row of the table, with intervals that are wrong with this chance."""
        if self.unlike:
            here = _ratio_text(self.found, None)
            return [self.text, self.then, here, "", f"no: {self.unlike}", "", ""]
        ratio = self.found.ratio(error)
        holds, fails = self.chances
        direction = "cannot be told" if not told else f"**{_HOLDS[holds < fails]}**"
        size = "within" if ratio.low <= float(self.then) <= ratio.high else "outside"
        cpu = _ratio_text(self.cpu, error) if self.cpu else ""
        return [self.text, self.then, ratio_text(ratio), cpu, "yes", direction, size]


# The ratio below which a difference is none, for claims that there is none
_SAME = 1.1
_HOLDS = {True: "holds", False: "does not hold"}
_HEADS = ["Claim", "Published", "Here", "CPU time", "Comparable", "Direction", "Size"]


def _claims(words: str) -> str:
    head, *lines = words.strip().splitlines()
    result, _, options = head.strip().partition(" ")
    claims = [_claim(line, result, options) for line in lines]
    tested = [claim for claim in claims if not claim.unlike]
    told = iter(_told([2 * min(claim.chances) for claim in tested]))
    error = ERROR / max(len(tested), 1)
    rows = [claim.cells(error, told=not claim.unlike and next(told)) for claim in claims]
    return _rendered(_HEADS, rows)


def _claim(line: str, result: str, options: str) -> _Claim:
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != 3:
        raise UsageError(f"{line}: three parts with | between them are needed")
    text, then, claim = parts
    given, named = _words(f"{result} {claim} {options}", 4, set(_WAYS), f"{_OTHER} unlike")
    ways = [way for way in _WAYS if way in named]
    if "per" not in named or len(ways) != 1:
        raise UsageError(f"{line}: one of {', '.join(_WAYS)} is needed, and per=SERVER")
    cpu = None if given[3] == "cpu" else _difference([*given[:3], "cpu"], named)
    return _Claim(text, then, ways[0], named.get("unlike"), _relative(given, named), cpu)


def _told(chances: Sequence[float]) -> list[bool]:
    """Which of these p-values name a difference: Holm (1979)."""
    told, order = [False] * len(chances), sorted(range(len(chances)), key=lambda at: chances[at])
    for rank, at in enumerate(order):
        if chances[at] > ERROR / (len(chances) - rank):
            break
        told[at] = True
    return told


def _relative(given: Sequence[str], options: Mapping[str, str]) -> Difference:
    """A figure's ratio to that of ``per=``."""
    found = _difference(given, options)
    if found is None:
        raise UsageError(f"{' '.join(given)} and {options['per']}: there is no ratio")
    return found


def _difference(given: Sequence[str], options: Mapping[str, str]) -> Difference | None:
    """The logarithm of a figure's ratio; None if one is unknown, or was measured only once."""
    result, server, level, figure = given
    base = options.get("per-result", result)
    if published(base).place != published(result).place:
        raise UsageError(f"{result} and {base} are of different machines, and cannot be compared")
    row = _row(result, server, level, options.get("case"))
    case = options.get("per-case", options.get("case"))
    other = _row(base, options["per"], options.get("per-level", level), case)
    if figure not in row.estimates or figure not in other.estimates:
        return None
    if base != result:
        return between_runs(other.estimates[figure].values, row.estimates[figure].values)
    places = [(one.case, one.level) for one in (row, other)]
    table = table_of(published(result), figure, places)
    return table.difference(*(key_of(one.target, one.case, one.level) for one in (row, other)))


def _ratio_text(found: Difference, error: float | None) -> str:
    return ratio_text(found.ratio(error)) if error else f"{found.ratio().value:.2f}"


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
    root = columns.pop().removeprefix("root=") + "/" if words.split()[-1][:5] == "root=" else ""
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
        link = f"[{server.name}]({root}{server.folder.parent.name}/{server.name})"
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
    at = [row for row in published_rows(result) if f"{row.level:g}" == level]
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
    "deployments": deployments_table,
    "servers": servers_table,
    "answers": answers_table,
    "reproduced": reproduced,
}
"""The text for the words of each kind of comment; raises :class:`UsageError` if there is none."""
