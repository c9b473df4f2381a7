"""The result of a load by h2load, from its output and its log."""

import re
from dataclasses import dataclass
from itertools import accumulate

from bench.generators.h2load_log import Log
from bench.generators.interface import Bodies, GeneratorError, LoadResult, LoadSpec
from bench.generators.program import Finished
from bench.records.measurement import Clients, Errors
from bench.records.warning import Warning

# Microseconds of CPU time per request that h2load should not exceed
_COSTLY = 15
_COSTLY_AT_A_RATE = 40  # with a timer for each request
_MANY = 10_000  # Requests beside which the CPU time of its start does not count


@dataclass(frozen=True)
class Totals:
    """The counts that h2load prints; its ``failed`` and ``errored`` are wrong after a duration."""

    started: int
    done: int
    timeouts: int = 0
    received: int | None = None  # Bytes of bodies

    @classmethod
    def of(cls, finished: Finished) -> "Totals":
        found = re.search(
            r"requests: .* (\d+) started, (\d+) done, .* (\d+) timeout.*\((\d+)\) data",
            finished.output,
            re.DOTALL,
        )
        if found is None:
            raise GeneratorError(f"h2load printed no result:\n{finished.output[-800:]}")
        return cls(*map(int, found.groups()))


@dataclass(frozen=True)
class FinishedLoad:
    """A load that has ended."""

    spec: LoadSpec
    command: list[str]
    clients: int
    finished: Finished
    totals: Totals
    log: Log

    def result(
        self,
        errors: Errors,
        seconds: float,
        unended: int,
        warnings: list[Warning],
        clients: Clients | None = None,
    ) -> LoadResult:
        """``unended`` requests may have a part of their body."""
        finished, log = self.finished, self.log
        cost = finished.cpu / max(self.totals.started, 1) * 1e6
        limit = _COSTLY_AT_A_RATE if self.spec.load.model == "constant rate" else _COSTLY
        if cost > limit and self.totals.started >= _MANY:
            warnings.append(Warning.of("generator-costly", cost=cost, limit=limit))
        return LoadResult(
            command=self.command,
            requests=len(log.good),
            seconds=seconds,
            errors=errors,
            cpu=finished.cpu,
            observer=finished.observer,
            output=finished.output,
            histogram=log.judged.encoded(),
            attempts=self.totals.started,
            bodies=self._bodies(unended),
            windows=log.windows(max(self.spec.duration or 0, seconds)),
            clients=clients,
            warnings=warnings,
        )

    def _bodies(self, unended: int) -> Bodies | None:
        """Each client took the paths in turn, but how far it came is unknown.

        So its sum differs from the mean by what the first few sizes differ from it, at any time. A
        refused request could have been for any path.
        """
        sizes, received, log = self.spec.sizes, self.totals.received, self.log
        if not sizes or received is None:
            return None
        count, cycle, longest = len(sizes), sum(sizes), max(sizes)
        right = len(log.good) + log.late
        drifts = [total * count - at * cycle for at, total in enumerate(accumulate(sizes), 1)]
        of_all = (right + log.refused) * cycle
        least = (of_all + self.clients * min(drifts)) // count - log.refused * longest
        most = -(-(of_all + self.clients * max(drifts)) // count) + unended * longest
        return Bodies(
            received=received,
            due=right * cycle // count,
            least=least,
            most=None if log.refused else most,
        )
