"""The overview: servers by workloads, a table for each machine."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Literal

from bench.analysis.figures import Row
from bench.records.result import ServerInfo
from bench.report.section import Section
from bench.report.wording import kind_text

# How a server stands beside the best one: it is the best, or tied with it; either is too noisy to
# tell; or it is behind
Standing = Literal["best", "tied", "noisy", ""]


@dataclass(frozen=True)
class Column:
    """A workload, at the level and in the case that its page shows first."""

    section: Section

    @property
    def title(self) -> str:
        """The workload's title."""
        return self.section.run.workload.title

    @cached_property
    def _values(self) -> dict[str, float]:
        name = self.section.ranked.name
        rows = self.section.first_rows
        return {
            target: value
            for target, row in rows.items()
            if (value := row.value(name)) is not None and isfinite(value) and not row.unranked
        }

    @cached_property
    def best(self) -> str | None:
        """The best server."""
        most = self.section.ranked.better == "more"
        order = max if most else min
        return order(self._values, key=lambda target: self._values[target], default=None)

    def value(self, target: str) -> float | None:
        """The figure that the server is ranked by; None if it has none."""
        return self._values.get(target)

    def share(self, target: str) -> float | None:
        """How good it is relative to the best, from 0 to 1."""
        value = self.value(target)
        if value is None or self.best is None:
            return None
        best = self._values[self.best]
        worse, better = sorted((value, best))
        return worse / better if better else 1.0

    def standing(self, target: str) -> Standing:
        """How it stands beside the best server.

        A wide interval includes the best figure whatever the server's own is: that is no tie.
        """
        if self.best is None or target not in self._values:
            return ""
        groups = set(self.row(target).tied.split())
        if target != self.best and not groups & set(self.row(self.best).tied.split()):
            return ""
        if self.is_noisy(target) or self.is_noisy(self.best):
            return "noisy"
        return "best" if target == self.best else "tied"

    def is_noisy(self, target: str) -> bool:
        """Whether the server's interval is too wide to rank it, or it was measured only once."""
        return self.row(target).is_noisy(self.section.ranked.name)

    def row(self, target: str) -> Row:
        """All figures of the server."""
        return self.section.first_rows[target]

    def is_disqualified(self, target: str) -> bool:
        """Whether one of its responses was wrong."""
        return any(one.target == target and one.disqualifies for one in self.section.run.failures)


@dataclass(frozen=True)
class Table:
    """The workloads that ran on one machine."""

    heading: str
    columns: list[Column]
    # Runs of some servers, in several cases, or under an older contract
    others: list[Column]

    @cached_property
    def servers(self) -> dict[str, ServerInfo]:
        """All servers, by the median of their shares of the best."""
        found = {
            target: info
            for column in self.columns
            for target, info in column.section.run.servers.items()
        }
        return dict(sorted(found.items(), key=lambda item: (-self._typical(item[0]), item[0])))

    def _typical(self, target: str) -> float:
        shares = [share for column in self.columns if (share := column.share(target)) is not None]
        return statistics.median(shares) if shares else 0

    @property
    def caveats(self) -> list[tuple[str, list[str]]]:
        """Caveats, and the workloads that have them; an empty list if all have."""
        found: dict[str, list[str]] = defaultdict(list)
        for column in self.columns:
            for caveat in column.section.caveats:
                found[caveat].append(column.title)
        every = len(self.columns)
        return [
            (caveat, [] if len(having) == every else having) for caveat, having in found.items()
        ]


def tables_of(sections: Sequence[Section]) -> list[Table]:
    """A table for each kind of machine, figures of which are never compared.

    Its columns are the workloads of all servers under the newest contract, if it has any. First
    comes the machine that has most of them, or, of several, that which measured last.
    """
    found: dict[tuple[str, ...], list[Section]] = defaultdict(list)
    for section in sections:
        found[section.run.kind].append(section)
    newest = max(_general(sections) or sections, key=lambda one: one.run.started)

    def current(own: Sequence[Section]) -> list[Section]:
        return [one for one in _general(own) if _contract(one) == _contract(newest)]

    def weight(own: Sequence[Section]) -> tuple[int, str]:
        return len(current(own)), max(one.run.started for one in current(own) or own)

    return [
        _table(own, current(own) or _general(own) or own)
        for own in sorted(found.values(), key=weight, reverse=True)
    ]


def _general(sections: Sequence[Section]) -> list[Section]:
    """Those of all servers. Of a run of fewer than half, the best is not the best of all."""
    found = [one for one in sections if one.is_of_all]
    most = max((len(one.run.servers) for one in found), default=0)
    return [one for one in found if 2 * len(one.run.servers) >= most]


def _contract(section: Section) -> str:
    """The fingerprint that most servers of a run share; some serve only a part of the contract."""
    return statistics.mode(server.fingerprint for server in section.run.servers.values())


def _table(sections: Sequence[Section], compared: Sequence[Section]) -> Table:
    others = [one for one in sections if not any(one is other for other in compared)]
    return Table(kind_text(sections[0].run), [*map(Column, compared)], [*map(Column, others)])
