"""What stands between the comments of :mod:`upkeep.texts`.

A figure::

    <!-- figure: MACHINE/WORKLOAD SERVER/DEPLOYMENT LEVEL FIGURE -->1,234<!-- /figure -->

FIGURE is one of :data:`.figures.FIGURES`. Options follow it: ``interval`` adds the interval;
``case="2 workers"`` names a case, if there are several; ``per=SERVER/DEPLOYMENT`` gives the ratio
to another server, with a 95% interval of its own (``plain`` leaves that out), and ``per-result=``,
``per-level=`` and ``per-case=`` say where that one was measured, if elsewhere on the same machine.

Published claims of a run: that a server's figure is ``more`` or ``less`` than another's, or the
``same`` but for 10%. They stand with their ratio as published, the ratio here, and three answers:
whether both can be compared (not if one has no rank, or ``unlike="the reason"`` says why not),
whether the direction is that of the claim, and whether the published ratio is within the interval.
Options of the first line are those of all lines::

    <!-- claims: MACHINE/WORKLOAD case="2 workers"
    The claim in words | PUBLISHED RATIO | SERVER LEVEL FIGURE more per=SERVER
    -->
    <!-- /claims -->

A table of all servers at a level, by falling rate, with the options ``case=`` and ``servers=A,B``;
``tied`` adds the letters of those that cannot be told apart by the figure that ranks::

    <!-- table: MACHINE/WORKLOAD LEVEL FIGURE,FIGURE tied -->
    <!-- /table -->

A figure of each deployment in every case::

    <!-- cases: MACHINE/WORKLOAD LEVEL FIGURE -->
    <!-- /cases -->

A summary: each server's first deployment, its lines of code, and a figure of several workloads,
with two significant digits. ``root=..`` is where the servers are, from the text's folder::

    <!-- summary: MACHINE FIGURE WORKLOAD:LEVEL WORKLOAD:LEVEL root=.. -->
    <!-- /summary -->

How many measurements of some workloads have a warning that spoils them, or one of a kind::

    <!-- spoiled: MACHINE kind=KIND WORKLOAD WORKLOAD -->12 of 34<!-- /spoiled -->

:mod:`upkeep.recorded` has the tables of recorded behaviours, :mod:`upkeep.reproduced` that of
workloads which were measured twice.
"""

from collections.abc import Callable, Iterator, Mapping

from bench.analysis.caveats import spoiling
from bench.analysis.estimates import ERROR
from bench.analysis.figures import FIGURES, Row
from bench.analysis.words import figure_text, interval_text, number
from bench.records.warning import SPOILING
from harness.errors import UsageError
from harness.servers.catalog import Server, find_servers
from harness.servers.source import count_lines
from upkeep.claims import claims_table
from upkeep.lookup import OTHER, known, ratio_words, relative, row_of, rows_at, value_of, words_of
from upkeep.recorded import answers_table, deployments_table, link, servers_table, table
from upkeep.reference import published
from upkeep.reproduced import reproduced


def _figure(words: str) -> str:
    given, options = words_of(words, 4, {"interval", "plain"}, OTHER)
    result, server, level, figure = given
    if "per" in options:
        return ratio_words(relative(given, options), None if "plain" in options else ERROR)
    row = row_of(result, server, level, options.get("case"))
    if "interval" in options:
        return _with_interval(result, row, figure)
    return _text(value_of(result, row, figure))


def _table(words: str) -> str:
    (result, level, names), options = words_of(words, 3, {"tied"}, "case servers")
    figures = names.split(",")
    rows = rows_at(result, level, options.get("case"))
    if "servers" in options:
        case = options.get("case")
        rows = [row_of(result, name, level, case) for name in options["servers"].split(",")]
    heads = ["Server", *map(_title, figures)]
    lines = [[row.target, *(_with_interval(result, row, name) for name in figures)] for row in rows]
    if "tied" in options:
        heads.append("Tied")
        lines = [[*line, row.standing] for line, row in zip(lines, rows, strict=True)]
    return table(heads, lines, numbers=True)


def _cases(words: str) -> str:
    (result, level, figure), _ = words_of(words, 3, set(), "")
    names = [case.name for case in published(result).workload.case]
    rows = [{row.target: row for row in rows_at(result, level, name)} for name in names]
    lines = []
    for server in find_servers().values():
        for place, deployment in enumerate(server.manifest.deployment):
            target = f"{server.name}/{deployment.name}"
            if any(target in at for at in rows):
                cells = [
                    _rounded(value_of(result, at[target], figure)) if target in at else ""
                    for at in rows
                ]
                name = f"{link(server)}/{deployment.name}" if place else link(server)
                lines.append([name, *cells])
    unit = FIGURES[known(figure)].unit
    return table(["Server", *(f"{name}, {unit}" for name in names)], lines, numbers=True)


def _summary(words: str) -> str:
    machine, figure, *columns = words.split()
    root = columns.pop().removeprefix("root=") + "/" if words.split()[-1][:5] == "root=" else ""
    if not columns:
        raise UsageError(f"{words}: a machine, a figure and workloads are needed")
    title = FIGURES[known(figure)].title.removesuffix(" of the server")
    measured, heads = [], ["Server", "Lines"]
    for column in columns:
        workload, _, level = column.partition(":")
        name = f"{machine}/{workload}"
        measured.append((name, {row.target: row for row in rows_at(name, level, None)}))
        path = published(name).workload.requested[0]
        heads.append(f"{title} of `{path}`, {FIGURES[figure].unit}")
    lines = []
    for server, target in _defaults():
        figures = [
            _rounded(value_of(name, rows[target], figure)) if target in rows else ""
            for name, rows in measured
        ]
        lines.append([link(server, root), str(count_lines(server)), *figures])
    return table(heads, lines, numbers=True)


def _spoiled(words: str) -> str:
    machine, *names = words.split() or [""]
    kind = names.pop(0).removeprefix("kind=") if names and names[0][:5] == "kind=" else None
    if not names:
        raise UsageError(f"{words}: a machine and workloads are needed")
    if kind not in (None, *SPOILING):
        raise UsageError(f"no kind {kind!r} of warning spoils figures, only {', '.join(SPOILING)}")
    found = [one for name in names for one in spoiling(published(f"{machine}/{name}"))]
    return f"{sum(kind in one if kind else bool(one) for one in found):,} of {len(found):,}"


def _defaults() -> Iterator[tuple[Server, str]]:
    """Each server, with the name of its first deployment."""
    for server in find_servers().values():
        yield server, f"{server.name}/{server.manifest.deployment[0].name}"


def _title(name: str) -> str:
    figure = known(name)
    return f"{FIGURES[figure].title}, {FIGURES[figure].unit}"


def _with_interval(result: str, row: Row, figure: str) -> str:
    found = row.estimates.get(known(figure))
    return interval_text(found) if found else _text(value_of(result, row, figure))


def _text(value: float | None) -> str:
    return "over the timeout" if value is None else figure_text(value)


def _rounded(value: float | None) -> str:
    return _text(value) if value is None else number(float(f"{value:.2g}"))


KINDS: Mapping[str, Callable[[str], str]] = {
    "figure": _figure,
    "claims": claims_table,
    "table": _table,
    "cases": _cases,
    "summary": _summary,
    "spoiled": _spoiled,
    "deployments": deployments_table,
    "servers": servers_table,
    "answers": answers_table,
    "reproduced": reproduced,
}
"""The text for the words of each kind of comment; raises :class:`UsageError` if there is none."""
