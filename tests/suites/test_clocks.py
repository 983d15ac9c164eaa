"""Clocks whose truth is known, read over ways of any length: what is said of them is never further off than it says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.clocks import Clock, Exchange, Reading, clocks_of, read, worst

_instants = st.integers(0, 10**16)
_delays = st.integers(0, 10**9)
_offsets = st.integers(-(10**16), 10**16)


def exchange(asked: int, there: int, back: int, offset: int) -> Exchange:
    """A question that takes `there`, and its answer that takes `back`, with a clock that is ahead by `offset`."""
    return Exchange(asked, asked + there + offset, asked + there + back)


@given(_offsets, st.lists(st.tuples(_instants, _delays, _delays), min_size=1, max_size=8))
def test_the_true_offset_lies_within_the_error_however_unequal_the_ways(
    offset: int, ways: list[tuple[int, int, int]]
) -> None:
    reading = read(exchange(*way, offset) for way in ways)
    assert abs(reading.offset - offset) <= reading.error


@given(_offsets, st.lists(st.tuples(_instants, _delays, _delays), min_size=1, max_size=8))
def test_the_shortest_way_counts_and_the_error_is_no_more_than_half_of_it(
    offset: int, ways: list[tuple[int, int, int]]
) -> None:
    shortest = min(there + back for _, there, back in ways)
    assert read(exchange(*way, offset) for way in ways).error == (shortest + 1) // 2


def test_by_hand() -> None:
    """Asked at 100, answered at 140; there it was 1120, so in the middle, at 120, it was ahead by 1000."""
    assert read([Exchange(100, 1120, 140), Exchange(200, 1300, 300)]) == Reading(at=1120, offset=1000, error=20)


@dataclass(frozen=True)
class Drifting:
    """A clock that was ahead by `offset` when it said 0, and by a millionth part of `ppm` more or less ever after."""

    offset: int
    ppm: Fraction

    def ahead(self, at: int) -> Fraction:
        return self.offset + self.ppm * at / 10**6

    def exchange(self, at: int, there: int, back: int) -> Exchange:
        """One in which it said `at`; the ends are rounded outwards, as clocks of whole nanoseconds at worst are."""
        elsewhere = at - self.ahead(at)
        return Exchange(int((elsewhere - there) // 1), at, -int((-elsewhere - back) // 1))


_clocks = st.builds(Drifting, _offsets, st.fractions(-1000, 1000, max_denominator=10**6))
_far = st.integers(1, 10**12)


@given(_clocks, st.tuples(_instants, _delays, _delays), st.tuples(_far, _delays, _delays), st.fractions(0, 1))
def test_a_clock_that_runs_at_another_rate_is_known_all_the_way_between_two_readings(
    clock: Drifting, first: tuple[int, int, int], later: tuple[int, int, int], part: Fraction
) -> None:
    start, length = first[0], later[0]
    found = Clock(read([clock.exchange(*first)]), read([clock.exchange(start + length, *later[1:])]))
    at = start + int(length * part)
    assert abs(found.offset(at) - clock.ahead(at)) <= found.error


@given(_offsets, st.integers(1, 10**9), st.tuples(_delays, _delays), st.tuples(_delays, _delays), st.fractions(0, 1),
       st.booleans())  # fmt: skip
def test_a_clock_that_was_set_between_two_readings_is_known_wherever_it_leapt(
    offset: int, leap: int, first: tuple[int, int], later: tuple[int, int], part: Fraction, gone: bool
) -> None:
    """If the two show it: what lies within their errors cannot be seen."""
    length = 10**10
    before = read([Exchange(-sum(first), -first[1] + offset, 0)])
    after = read([Exchange(length, length + later[0] + offset + leap, length + sum(later))])
    found = Clock(before, after)
    at = before.at + int((after.at - before.at) * part)
    if after.offset - before.offset > before.error + after.error:
        assert abs(found.offset(at) - (offset + leap * gone)) <= found.error


def test_readings_that_agree_are_as_good_as_the_worse_of_them_and_others_as_bad_as_they_differ() -> None:
    before, after = Reading(at=1000, offset=500, error=20), Reading(at=3000, offset=530, error=10)
    agreed = Clock(before, after)
    assert [agreed.offset(at) for at in (0, 1000, 2000, 3000, 9000)] == [500, 500, 515, 530, 530]
    assert agreed.error == 21  # and a nanosecond for what was rounded
    assert Clock(before, Reading(at=3000, offset=700, error=10)).error == 220


def test_two_stamps_err_by_what_the_clocks_of_both_hosts_do() -> None:
    own, near, far = ([[0, 0, 0]] * 2, [[5, 100, 7], [9, 100, 7]], [[5, 100, 40], [9, 101, 40]])
    clocks = clocks_of([own, near, far])
    assert [clock.error for clock in clocks] == [1, 8, 41]
    assert worst(clocks) == 49
    assert worst(clocks[:2]) == 9


@pytest.mark.parametrize("at", [-5, 0, 7])
def test_a_clock_is_never_ahead_of_itself(at: int) -> None:
    (own,) = clocks_of([[[0, 0, 0], [0, 0, 0]]])
    assert own.offset(at) == 0
