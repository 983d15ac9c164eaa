"""Least, middle, most and last of many rates."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.spread import Spread


def spread(*rates: float) -> Spread:
    found = Spread()
    for rate in rates:
        found.add(rate)
    return found


def test_nothing_yet() -> None:
    found = spread()
    assert (found.count, found.least, found.median, found.most, found.last) == (0, None, None, None, None)


def test_of_three() -> None:
    found = spread(3e9, 1e9, 2e9)
    assert (found.count, found.least, found.most, found.last) == (3, 1e9, 3e9, 2e9)
    assert found.median == pytest.approx(2e9, rel=0.006)


@given(st.lists(st.one_of(st.just(0.0), st.floats(1, 1e15)), min_size=1))
def test_the_middle_is_near_the_real_one(rates: list[float]) -> None:
    found = spread(*rates)
    assert found.median == pytest.approx(statistics.median_low(rates), rel=0.006)
    assert found.least == min(rates)
    assert found.most == max(rates)


def test_a_rate_that_does_not_change_is_exact() -> None:
    assert spread(12345.678, 12345.678).median == 12345.678


def test_memory_is_bounded() -> None:
    found = spread(*(1.0001**power for power in range(200_000)))
    assert len(found._classes) < 2100
