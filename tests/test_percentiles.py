"""Percentiles of response times, with failures, from histograms that merge."""

import pytest

from bench.records.histogram import Histogram, merged
from bench.records.measurement import Latency

pytestmark = pytest.mark.quick


def latency(histogram: Histogram, failed: int = 0) -> Latency:
    found = histogram.latency(failed)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("count", "percentile", "expected"),
    [
        (1, "p50", 1),
        (2, "p50", 1),
        (3, "p50", 2),
        (100, "p99", 99),
        (101, "p99", 100),
        (1000, "p99_9", 999),
        (4, "max", 4),
    ],
)
def test_the_nearest_rank(count: int, percentile: str, expected: int) -> None:
    histogram = Histogram()
    histogram.add(range(1, count + 1))
    assert getattr(latency(histogram), percentile) == expected / 1000


@pytest.mark.parametrize("microseconds", [1, 2047, 2048, 33_333, 4_999_999, 899_999_999])
def test_three_digits_are_kept(microseconds: int) -> None:
    histogram = Histogram()
    histogram.add([microseconds])
    assert latency(histogram).p50 == pytest.approx(microseconds / 1000, rel=1e-3)


def test_histograms_merge() -> None:
    one, other = Histogram(), Histogram()
    one.add([1000] * 900)
    other.add([5_000_000] * 100)
    both = merged([one.encoded(), "", other.encoded()])
    assert len(both) == 1000
    found = latency(both)
    assert (found.p50, found.p90) == pytest.approx((1, 1), rel=1e-3)
    assert (found.p95, found.p99_9, found.max) == pytest.approx((5000,) * 3, rel=1e-3)


def test_failures_are_longer_than_any_response() -> None:
    histogram = Histogram()
    histogram.add(range(1000, 1900))
    found = latency(histogram, failed=100)
    assert found.p50 == pytest.approx(1.5, rel=2e-3)
    assert found.p90 == pytest.approx(1.9, rel=2e-3)
    assert (found.p95, found.p99, found.max) == (None, None, None)
    assert latency(Histogram(), failed=1).p50 is None
    assert Histogram().latency(0) is None
