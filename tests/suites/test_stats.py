"""Order statistics: which samples bound the median, and when there are too few to say."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.stats import interval95, p99, percentile


def ranks(n: int) -> list[float]:
    """n samples out of order, each with its own rank, counted from one, as its value."""
    return [float(1 + index * 7 % n) if n % 7 else float(n - index) for index in range(n)]


def coverage(n: int, low: int, high: int) -> float:
    """The exact probability that the median of any continuous distribution lies between these order statistics."""
    return sum(math.comb(n, below) for below in range(low, high)) / 2**n


@pytest.mark.parametrize(
    ("n", "interval"),
    [
        (6, (1, 6)),
        (7, (1, 7)),
        (8, (1, 8)),
        (9, (2, 8)),
        (20, (6, 15)),
        (100, (40, 61)),
        (1000, (469, 532)),
        (1001, (469, 533)),
        (10_000, (4902, 5099)),
    ],
)
def test_the_interval_of_the_median(n: int, interval: tuple[int, int]) -> None:
    assert interval95(ranks(n)) == interval


@pytest.mark.parametrize("n", range(6))
def test_no_interval_below_six_samples(n: int) -> None:
    assert interval95([1.0] * n) is None


@pytest.mark.parametrize("n", [*range(6, 200), 999, 1000, 1001, 1500])
def test_the_interval_covers_the_median_with_95_percent_and_no_narrower_one_does(n: int) -> None:
    bounds = interval95(ranks(n))
    assert bounds
    low, high = int(bounds[0]), int(bounds[1])
    assert low + high == n + 1
    assert coverage(n, low, high) >= 0.95
    # Beyond 1000 samples the approximation may be one sample wide of the narrowest.
    assert coverage(n, low + 1 + (n > 1000), high - 1 - (n > 1000)) < 0.95


@pytest.mark.parametrize(
    ("n", "percent", "expected"), [(1, 95, 1), (20, 95, 19), (21, 95, 20), (100, 95, 95), (100, 50, 50), (300, 99, 297)]
)
def test_percentiles_are_samples_by_nearest_rank(n: int, percent: float, expected: int) -> None:
    assert percentile(ranks(n), percent) == expected


@pytest.mark.parametrize(("n", "known"), [(299, False), (300, True)])
def test_p99_is_null_where_the_sample_is_too_small(n: int, known: bool) -> None:
    assert p99(ranks(n)) == (297 if known else None)


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=60), st.integers(1, 100))
def test_a_percentile_is_the_smallest_sample_that_enough_do_not_exceed(samples: list[float], percent: int) -> None:
    value = percentile(samples, percent)

    def share(limit: float) -> float:
        return sum(sample <= limit for sample in samples) * 100

    assert value in samples
    assert share(value) >= percent * len(samples)
    assert all(share(sample) < percent * len(samples) for sample in samples if sample < value)
