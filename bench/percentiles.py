"""Percentiles by the nearest-rank method: each is one of the samples."""

import math
from collections.abc import Sequence
from typing import TypeVar

Number = TypeVar("Number", int, float)


def nearest_rank(ordered: Sequence[Number], share: float) -> Number:
    """The smallest of the sorted samples that at least this share of them does not exceed."""
    rank = math.ceil(round(share * len(ordered), 6))
    return ordered[max(rank, 1) - 1]
