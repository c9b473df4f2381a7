"""Percentiles by the nearest rank: each is one of the samples."""

import math
from collections.abc import Sequence
from typing import TypeVar

Number = TypeVar("Number", int, float)


def nearest_rank(ordered: Sequence[Number], share: float) -> Number:
    """The least of the sorted samples that so large a share of them does not exceed."""
    rank = math.ceil(round(share * len(ordered), 6))
    return ordered[max(rank, 1) - 1]
