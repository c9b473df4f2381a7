"""What the data sources of a workload did in a turn."""

import sys
import time
from collections.abc import Iterable, Sequence

from bench.generators import LoadResult
from bench.measuring.disturbed import Disturbed
from bench.measuring.process_tree import Tree, listening_at
from bench.measuring.responses import WrongAnswer
from bench.measuring.sources import Source, sources_of
from bench.records.result import Sources
from harness.services import Services

_FLUSH = 5.0  # Seconds that a data source may take to count its last operations


class Ledger:
    """The data sources that some paths use, and their counts since this object was created."""

    def __init__(self, paths: Sequence[str], services: Services, request_id: str) -> None:
        """Note the counts so far; raises :class:`Disturbed` if a source does not answer."""
        self._sources = sources_of(paths, services, request_id)
        self._before = [source.count() for source in self._sources]
        self.databases = _programs(one for one in self._sources if one.name != "upstream")
        self.upstream = _programs(one for one in self._sources if one.name == "upstream")

    @property
    def names(self) -> list[str]:
        """The sources."""
        return [source.name for source in self._sources]

    def require_undisturbed(self) -> None:
        """Raise if a source ended in the meantime: then no failure is the server's."""
        for source, before in zip(self._sources, self._before, strict=True):
            if source.count() < before:
                raise Disturbed(f"{source.name} was restarted during the measurement")
        roots = [*self.databases.roots, *self.upstream.roots]
        if not all(root.is_running() for root in roots):
            raise Disturbed("a data source ended during the measurement")

    def used(
        self, warm: LoadResult | None, result: LoadResult, sequences: int, *, counted: bool
    ) -> list[Sources]:
        """The counts; raises if some responses in the warm-up or the load did not use a source.

        ``sequences`` is how many times the paths were requested side by side, ``counted`` whether
        the number of requests was set.
        """
        found = []
        for source, before in zip(self._sources, self._before, strict=True):
            # The upstream counts by request id, which the warm-up does not send.
            loads = [result] if source.name == "upstream" or not warm else [warm, result]
            least = sum(_least(source, one, sequences) for one in loads)
            used = Sources(
                name=source.name,
                counted=_count(source, before, least),
                least=least,
                exactly=source.name == "upstream" and counted and not result.errors.total,
            )
            if not used.agrees:
                answered = sum(map(_answered, loads))
                needed = f"{'' if used.exactly else 'at least '}{least}"
                raise WrongAnswer(
                    f"{source.name} counted {used.counted} for {answered} responses, which need "
                    f"{needed}: some responses did not use it"
                )
            found.append(used)
        return found


def _answered(result: LoadResult) -> int:
    """The good responses, in all steps of a search for the capacity."""
    return result.requests + result.others


def _least(source: Source, result: LoadResult, sequences: int) -> int:
    # How many requests failed in all steps is not known: any number, then.
    ended = sys.maxsize if result.steps else result.requests + result.errors.total
    return source.least(ended, _answered(result), sequences)


def _count(source: Source, before: int, least: int) -> int:
    """The operations since ``before``, once there are enough or no more are to come."""
    deadline = time.monotonic() + _FLUSH
    while (found := source.count() - before) < least and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def _programs(sources: Iterable[Source]) -> Tree:
    return listening_at(source.url for source in sources)
