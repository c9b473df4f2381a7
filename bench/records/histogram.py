"""Distributions of response times as HdrHistograms, which merge over repeats and machines.

They hold microseconds with three significant digits, and only good responses: the number of failed
requests is kept beside them.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]
from numpy.typing import ArrayLike

from bench.records.measurement import Latency

PERCENTILES = {
    **{"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999},
    "max": 1.0,
}
_LONGEST = 3_600_000_000
_DIGITS = 3
_BITS = 11  # The bits of a value that a histogram with three digits keeps


class Histogram:
    """Counts response times."""

    def __init__(self, digits: int = _DIGITS) -> None:
        self._counts: Any = HdrHistogram(1, _LONGEST, digits)

    def __len__(self) -> int:
        return int(self._counts.get_total_count())

    def add(self, microseconds: ArrayLike) -> None:
        values = np.asarray(microseconds, np.int64).clip(1, _LONGEST)
        shift = np.maximum(np.frexp(values.astype(float))[1] - _BITS, 0)
        rounded, counts = np.unique((values >> shift) << shift, return_counts=True)
        for value, count in zip(rounded.tolist(), counts.tolist(), strict=True):
            self._counts.record_value(value, count)

    @property
    def mean(self) -> float:
        """The mean in seconds; 0 if nothing was counted."""
        return float(self._counts.get_mean_value()) / 1e6 if len(self) else 0.0

    def rounded(self) -> "Histogram":
        """The same to two significant digits, in a third of the room."""
        found = Histogram(digits=2)
        found._counts.add(self._counts)
        return found

    def encoded(self) -> str:
        """The compressed form (V2) in base64."""
        text: bytes = self._counts.encode()
        return text.decode()

    def latency(self, failed: int) -> Latency | None:
        """The percentiles, if ``failed`` further requests took longer than all that are counted."""
        if not len(self) + failed:
            return None
        times = self.times(list(PERCENTILES.values()), failed)
        return Latency(**dict(zip(PERCENTILES, times, strict=True)))

    def times(self, shares: Sequence[float], failed: int) -> list[float | None]:
        """The milliseconds below which these shares of all requests are, by nearest rank.

        None where that is one of ``failed`` further requests: they took longer than all others.
        """
        good = len(self)
        ranks = [max(math.ceil(round(share * (good + failed), 6)), 1) for share in shares]
        percentiles = {rank: 100 * rank / good for rank in ranks if rank <= good}
        known = self._counts.get_percentile_to_value_dict(list(percentiles.values()))
        return [known[percentiles[rank]] / 1000 if rank in percentiles else None for rank in ranks]


def merged(histograms: Iterable[str]) -> Histogram:
    """The sum of encoded histograms; an empty text has counted nothing."""
    total = Histogram()
    for encoded in filter(None, histograms):
        total._counts.add(HdrHistogram.decode(encoded))
    return total
