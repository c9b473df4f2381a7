"""The functions that texts call, beside those of :mod:`upkeep.claims`, :mod:`upkeep.recorded` and
:mod:`upkeep.reproduced`.

``result`` is ``MACHINE/WORKLOAD``, ``server`` is ``SERVER/DEPLOYMENT``, ``figure`` one of
:data:`bench.analysis.figures.FIGURES`; a result with several cases needs a ``case``.
"""

from bench.analysis.caveats import spoiling
from bench.analysis.standings import Row
from bench.analysis.words import figure_text, interval_text, number
from bench.report.wording import title_of
from harness.errors import UsageError
from harness.servers.catalog import find_servers
from harness.servers.source import count_lines
from upkeep.claims import Claim, claims
from upkeep.lookup import Place, difference, estimate_of, known, ratio_words, rows_at
from upkeep.recorded import answers, deployments, link, servers, table
from upkeep.reference import published, workloads_of
from upkeep.reproduced import reproduced


def figure(result: str, server: str, level: float, name: str, case: str | None = None) -> str:
    """A figure of a server."""
    return figure_text(estimate_of(Place(result, server, level, case).row, name).value)


def ratio(
    result: str,
    server: str,
    other: str,
    level: float,
    name: str,
    case: str | None = None,
    of_case: str | None = None,
) -> str:
    """The ratio of a server's figure to another's, or to its own in another case."""
    one, base = Place(result, server, level, case), Place(result, other, level, of_case or case)
    found = difference(one, base, name)
    if found is None:
        raise UsageError(f"{name} of {server} and {other} has no ratio")
    return ratio_words(found)


def measured(
    result: str, level: float, *names: str, case: str | None = None, tied: bool = False
) -> str:
    """A table of all servers at a level, the best first.

    ``tied`` adds the letters of those that cannot be told apart by the figure that ranks.
    """
    model = published(result).workload.load.model
    heads = ["Server"]
    heads += [f"{title_of(known(name), model)}, {known(name).unit}" for name in names]
    rows = rows_at(result, level, case)
    lines = [
        [row.target, *(interval_text(estimate_of(row, name)) for name in names)] for row in rows
    ]
    if tied:
        heads.append("Tied")
        lines = [[*line, row.standing] for line, row in zip(lines, rows, strict=True)]
    return table(heads, lines, numbers=True)


def cases(result: str, level: float, name: str) -> str:
    """A table of a figure of each deployment in every case."""
    names = [case.name for case in published(result).workload.case]
    rows = [{row.target: row for row in rows_at(result, level, case)} for case in names]
    lines = []
    for server in find_servers().values():
        for place, deployment in enumerate(server.manifest.deployment):
            target = f"{server.name}/{deployment.name}"
            if any(target in at for at in rows):
                title = f"{link(server)}/{deployment.name}" if place else link(server)
                lines.append([title, *(_rounded(at.get(target), name) for at in rows)])
    unit = known(name).unit
    return table(["Server", *(f"{case}, {unit}" for case in names)], lines, numbers=True)


def summary(machine: str, name: str, workloads: dict[str, float], root: str = "../") -> str:
    """A table of each server's first deployment: its lines of code, and a figure of some workloads
    at one level each, to two significant digits.

    ``root`` leads from the text to the servers.
    """
    heads, columns = ["Server", "Lines"], []
    for workload, level in workloads.items():
        rows = rows_at(f"{machine}/{workload}", level, None)
        columns.append({row.target: row for row in rows})
        path = published(f"{machine}/{workload}").workload.requested[0]
        heads.append(f"`{path}`, {known(name).unit}")
    lines = []
    for server in find_servers().values():
        target = f"{server.name}/{server.manifest.deployment[0].name}"
        cells = [_rounded(column.get(target), name) for column in columns]
        lines.append([link(server, root), str(count_lines(server)), *cells])
    return table(heads, lines, numbers=True)


def results(machine: str) -> str:
    """A table of a machine's published results, with the measurements that a warning spoils."""
    lines = []
    for name in workloads_of(machine):
        run = published(f"{machine}/{name}")
        spoiled, kinds = spoiling(run)
        lines.append(
            [
                f"[`{name}`](../bench/workloads/{name}.toml)",
                run.started[:10],
                str(len({one.target for one in run.measurements})),
                str(max(one.repeat for one in run.measurements)),
                f"{spoiled} of {len(run.measurements)}",
                ", ".join(f"{kind} {count}" for kind, count in kinds.items()),
            ]
        )
    heads = ["Workload", "Measured", "Deployments", "Repeats", "Spoiled", "By warnings of the kind"]
    return table(heads, lines)


def _rounded(row: Row | None, name: str) -> str:
    if row is None:
        return ""
    return number(float(f"{estimate_of(row, name).value:.2g}"))


# What a text may call, by name
FUNCTIONS = {
    one.__name__.lower(): one
    for one in (
        *(figure, ratio, measured, cases, summary, results),
        *(Claim, claims, deployments, servers, answers, reproduced),
    )
}
