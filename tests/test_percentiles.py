"""Percentiles by the nearest rank."""

import pytest

from bench.percentiles import nearest_rank

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("count", "share", "expected"),
    [
        (1, 0.5, 1),
        (2, 0.5, 1),
        (3, 0.5, 2),
        (100, 0.07, 7),  # 0.07 * 100 is a little more than 7
        (100, 0.99, 99),
        (101, 0.99, 100),
        (1000, 0.999, 999),
        (4, 1.0, 4),
        (4, 0.0, 1),
    ],
)
def test_the_nearest_rank(count: int, share: float, expected: int) -> None:
    assert nearest_rank(range(1, count + 1), share) == expected
