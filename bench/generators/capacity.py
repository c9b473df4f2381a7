"""The capacity: the highest constant rate at which a server keeps its limits.

The limits are the 99th percentile of the response time, which the level gives in milliseconds, and
`MOST_FAILED`. The rate rises until one does not hold, or falls until one does, further each time;
then the range between is halved, on a logarithmic scale, until it is narrow (exponential search:
Bentley and Yao, "An almost optimal algorithm for unbounded searching", 1976). A single step may be
unlucky: at each rate, two steps have to agree, of three at the most.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace

from bench.generators.interface import LoadResult, LoadSpec
from bench.records.measurement import Step
from bench.records.warning import Warning
from conformance.http import FAILED, Request
from conformance.subject import Subject

MOST_FAILED = 0.001  # The share of requests that must not be reached by those that fail
MOST_RATES = 12  # Until one has held and one has not
_AGREEING = 2  # Steps that decide whether a rate holds
_PROBE_CONNECTIONS = 50
_PROBE_SECONDS = 2.0
_START = 0.9  # The first rate, relative to that of a closed load
_GROWTH = 1.2  # The ratio of the first two rates; later ones rise or fall by its powers
_WIDTH = 1.05  # The ratio of the lowest rate that did not hold to the highest that did, at the end
_LEAST = 1.0  # The lowest rate that is tried, in requests per second
_OPENING = 2.0  # Seconds before each step, in which its connections are opened
# The most requests of a connection: Tomcat and others close it after a hundred by default, and
# h2load sends no more then at a rate
_CALLS = 100
_BUSY = 0.9  # The share of a core from which a process of the load generator is at its limit
# The most seconds that a server gets between steps to become as quick as the limit
_RECOVERY = 10.0
_PROMPT = 3  # Prompt responses in a row that show that it has recovered
_SETTLE = 0.5


def search(spec: LoadSpec, put: Callable[[LoadSpec], LoadResult]) -> LoadResult:
    """Find the capacity of a server; ``put`` puts a load on it."""
    return _Search(spec, put).result()


class _Search:
    def __init__(self, spec: LoadSpec, put: Callable[[LoadSpec], LoadResult]) -> None:
        self._spec, self._put = spec, put
        self._tried: list[tuple[Step, LoadResult]] = []
        self._holds: dict[float, bool] = {}
        self._generator_limited: set[float] = set()  # Rates at which the load generator was

    def result(self) -> LoadResult:
        """The result of the highest rate that held, with all steps."""
        began, own = time.monotonic(), time.process_time()
        seconds = min(self._spec.duration or _PROBE_SECONDS, _PROBE_SECONDS)
        closed = self._spec.but(model="closed", level=_PROBE_CONNECTIONS, duration=seconds)
        probe = self._put(closed)
        rate = round(max(_START * probe.requests / probe.seconds, _LEAST), 1)
        while rate >= _LEAST and rate not in self._holds:
            self._holds[rate] = self._decide(rate)
            low, high = self._range()
            is_between = low > 0 and high < math.inf
            is_over = high / low <= _WIDTH if is_between else len(self._holds) >= MOST_RATES
            if is_over:
                break
            rate = round(self._next(low, high), 1)
        best = self._range()[0]
        at = best or min(self._holds)
        shown = next(
            result
            for step, result in self._tried
            if (step.rate, step.held) == (at, self._holds[at])
        )
        all_results = [probe, *(result for _, result in self._tried)]
        own_share = (time.process_time() - own) / (time.monotonic() - began)
        return replace(
            shown,
            capacity=best,
            steps=[step for step, _ in self._tried],
            others=sum(one.requests for one in all_results) - shown.requests,
            cpu=sum(one.cpu for one in all_results),
            workers_cpu=sum(one.workers_cpu for one in all_results),
            observer=own_share * shown.seconds,
            warnings=[*shown.warnings, *self._doubts()],
        )

    def _decide(self, rate: float) -> bool:
        """Whether a rate holds: as soon as enough steps agree on it."""
        ends: list[bool] = []
        while max(ends.count(True), ends.count(False)) < _AGREEING:
            self._recover()
            ends.append(self._try(rate))
        return ends[-1]

    def _range(self) -> tuple[float, float]:
        """The highest rate that held below the lowest that did not, or 0; and the latter."""
        high = min((rate for rate, holds in self._holds.items() if not holds), default=math.inf)
        held = (rate for rate, holds in self._holds.items() if holds and rate < high)
        return max(held, default=0.0), high

    def _next(self, low: float, high: float) -> float:
        further: float = _GROWTH ** len(self._holds)
        if high == math.inf:
            return low * further
        return math.sqrt(low * high) if low else high / further

    def _try(self, rate: float) -> bool:
        """Whether one step at a rate holds."""
        duration = _OPENING + (self._spec.duration or 0)
        spec = self._spec.but(model="constant rate", level=rate, duration=duration)
        result = self._put(replace(spec, most_calls=_CALLS, opening=_OPENING))
        limit, ended = self._spec.level, result.requests + result.errors.total
        p99 = result.latency.p99 if result.latency else None
        failed = result.errors.total / ended if ended else 1.0
        reasons = []
        if p99 is None or p99 > limit:
            found = "over the timeout" if p99 is None else f"{p99:.0f} ms"
            reasons.append(f"the 99th percentile was {found}")
        if failed >= MOST_FAILED:
            reasons.append(f"{failed:.2%} of the requests failed")
        if reasons and ((result.busiest or 0) >= _BUSY or (result.lag or 0) > limit):
            self._generator_limited.add(rate)
            reasons.append("the load generator was at its limit")
        step = Step(
            rate=rate,
            seconds=result.seconds,
            requests=result.requests,
            achieved=result.requests / result.seconds if result.seconds else 0.0,
            p99=p99,
            failed=failed,
            held=not reasons,
            why="; ".join(reasons),
        )
        self._tried.append((step, result))
        return step.held

    def _doubts(self) -> list[Warning]:
        low, high = self._range()
        if high == math.inf:
            return [Warning.of("at-least", least=low)]
        if high in self._generator_limited:
            return [Warning.of("generator-limited", rate=high, least=low)]
        return [] if low else [Warning.of("nothing-held", rate=high)]

    def _recover(self) -> None:
        """Wait until the server is prompt again."""
        server = Subject.at(self._spec.url)
        request = Request(self._spec.paths[0], headers=tuple(self._spec.headers.items()))
        deadline, prompt = time.monotonic() + _RECOVERY, 0
        while prompt < _PROMPT and (began := time.monotonic()) < deadline:
            try:
                server.ask(request, timeout=2)
            except FAILED:
                prompt = 0
                time.sleep(0.1)
            else:
                is_prompt = time.monotonic() - began <= self._spec.level / 1000
                prompt = prompt + 1 if is_prompt else 0
        time.sleep(_SETTLE)
