"""The overview: servers by workloads, a table for each machine."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bench.records.result import ServerInfo
from bench.report.section import Section
from bench.report.wording import kind_text


@dataclass(frozen=True)
class Table:
    """The workloads that ran on one machine."""

    heading: str
    columns: list[Section]
    # Runs of some servers, in several cases, or under an older contract
    others: list[Section]

    @cached_property
    def servers(self) -> dict[str, ServerInfo]:
        """All servers, by the median of their shares of the best."""
        found = {
            target: info for section in self.columns for target, info in section.run.servers.items()
        }
        return dict(sorted(found.items(), key=lambda item: (-self._typical(item[0]), item[0])))

    def _typical(self, target: str) -> float:
        shares = [share for section in self.columns if (share := section.share(target)) is not None]
        return statistics.median(shares) if shares else 0

    @property
    def caveats(self) -> list[tuple[str, list[str]]]:
        """Caveats, and the workloads that have them; an empty list if all have."""
        found: dict[str, list[str]] = defaultdict(list)
        for section in self.columns:
            for caveat in section.caveats:
                found[caveat].append(section.title)
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

    tables = []
    for own in sorted(found.values(), key=weight, reverse=True):
        columns = current(own) or _general(own) or own
        others = [one for one in own if not any(one is column for column in columns)]
        tables.append(Table(kind_text(own[0].run), columns, others))
    return tables


def _general(sections: Sequence[Section]) -> list[Section]:
    """Those of all servers. Of a run of fewer than half, the best is not the best of all."""
    found = [one for one in sections if one.is_of_all]
    most = max((len(one.run.servers) for one in found), default=0)
    return [one for one in found if 2 * len(one.run.servers) >= most]


def _contract(section: Section) -> str:
    """The fingerprint that most servers of a run share; some serve only a part of the contract."""
    return statistics.mode(server.fingerprint for server in section.run.servers.values())
