"""Lists of ranks in texts. May import: suites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.ranks import MOST_RANKS, listed, ranged, runs, some


@pytest.mark.parametrize(
    ("text", "ranks"), [("[0, 1, 7]", (0, 1, 7)), ("3,5", (3, 5)), ("", ()), ("all", ()), (" 12 ", (12,))]
)
def test_what_is_listed(text: str, ranks: tuple[int, ...]) -> None:
    assert listed(text) == ranks


@pytest.mark.parametrize(
    ("text", "ranks"), [("0-2,5", (0, 1, 2, 5)), ("7", (7,)), ("4-3", ()), ("1,x,2-", (1,)), ("-", ())]
)
def test_what_is_a_range(text: str, ranks: tuple[int, ...]) -> None:
    assert ranged(text) == ranks


def test_absurd_lists_are_bounded() -> None:
    assert len(ranged("0-999999999,0-999999999")) == MOST_RANKS
    assert listed("9" * 5000) == ()
    assert listed("[0, 100000000000000000, 3]") == (0, 3)


@given(st.lists(st.integers(0, 40), unique=True).map(sorted))
def test_runs_are_ranges_again(ranks: list[int]) -> None:
    assert ranged(",".join(runs(ranks))) == tuple(ranks)


def test_of_many_only_some_are_shown() -> None:
    assert some([*range(4), 8]) == "0-3, 8"
    assert some(range(0, 40, 2)) == "0, 2, 4, 6, 8, 10, 12, 14 and more"
