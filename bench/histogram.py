"""Response times as percentiles and as an HdrHistogram."""

import math
from collections import Counter
from collections.abc import Sequence

from hdrh.histogram import HdrHistogram

PERCENTILES = {
    **{"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999},
    "max": 1.0,
}


def percentiles(microseconds: Sequence[int], failed: int = 0) -> dict[str, float | None] | None:
    """Milliseconds."""
    total = len(microseconds) + failed
    if not total:
        return None
    ranks = {name: math.ceil(round(share * total, 6)) for name, share in PERCENTILES.items()}
    return {
        name: microseconds[rank - 1] / 1000 if rank <= len(microseconds) else None
        for name, rank in ranks.items()
    }


def encoded(microseconds: Sequence[int]) -> str:
    """Base64."""
    histogram = HdrHistogram(1, 60_000_000, 3)
    for value, count in Counter(map(_rounded, microseconds)).items():
        histogram.record_value(max(value, 1), count)
    return histogram.encode().decode()


def _rounded(value: int) -> int:
    shift = max(value.bit_length() - 11, 0)
    return value >> shift << shift
