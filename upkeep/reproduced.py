"""How far two runs of the same servers on one machine differ.

They are in ``results/repeated``, as ``WORKLOAD.first.json.gz`` and ``WORKLOAD.second.json.gz``.
"""

from datetime import datetime
from math import log
from statistics import stdev

from bench.analysis.compare import Change, changes
from bench.records.store import RESULTS, read
from upkeep.recorded import table

FOLDER = RESULTS / "repeated"
_HEADS = [
    *("Workload", "Servers", "Hours between", "Differences named"),
    *("Shifts of requests/s", "Shifts of CPU time per request"),
]


def reproduced(*workloads: str) -> str:
    """A row for each workload; a shift is a server's change between the runs, and those of all
    servers are shown by their standard deviation."""
    return table(_HEADS, map(_row, workloads), numbers=True)


def _row(workload: str) -> list[str]:
    first, second = (read(FOLDER / f"{workload}.{one}.json.gz") for one in ("first", "second"))
    found = changes(first, second)
    apart = datetime.fromisoformat(second.started) - datetime.fromisoformat(first.started)
    named = sum(one.verdict in ("better", "worse") for one in found)
    return [
        second.workload.title,
        str(len(second.servers)),
        f"{apart.total_seconds() / 3600:.1f}",
        f"{named} of {len(found)}",
        *(_spread(found, figure) for figure in ("rate", "cpu")),
    ]


def _spread(found: list[Change], figure: str) -> str:
    return f"{100 * stdev(log(one.ratio) for one in found if one.figure == figure):.1f}%"
