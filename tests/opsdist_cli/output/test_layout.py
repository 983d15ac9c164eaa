"""Pairs, tables and wrapping stay below 100 columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdist_cli.output.layout import clean, pairs, ranges, table, wrapped


def test_pairs_are_aligned_and_wrapped() -> None:
    lines = pairs(
        [("key", "short"), ("other", "word " * 30), ("a key that takes more than its column", "value"), ("none", "")]
    )
    assert lines[0] == "  key                     short"
    assert lines[2].startswith(" " * 26 + "word")
    assert lines[-3:] == ["  a key that takes more than its column", " " * 26 + "value", "  none"]


def test_every_column_is_used_and_none_beyond() -> None:
    assert [len(line) for line in pairs([("key", "x" * 100)])] == [99, 26 + 27]


def test_a_key_as_wide_as_its_column_has_a_line_of_its_own() -> None:
    assert pairs([("k" * 24, "v")]) == ["  " + "k" * 24, " " * 26 + "v"]
    assert pairs([("k" * 23, "v")]) == ["  " + "k" * 23 + " v"]


def test_values_are_not_broken_at_hyphens() -> None:
    assert wrapped("x" * 93 + " ab-cd-ef", "", "") == ["x" * 93, "ab-cd-ef"]


def test_table() -> None:
    assert table(("n", "what", "last"), [("1", "long word", "x"), ("22", "w", "y")]) == [
        "  n   what       last",
        "  1   long word  x",
        "  22  w          y",
    ]


@given(st.text(max_size=200), st.text(max_size=400))
def test_lines_stay_below_100_columns_and_hold_no_control_character(key: str, value: str) -> None:
    for line in [*pairs([(key, value)]), *wrapped(value, "warn  ", "      ")]:
        assert len(line) < 100
        assert line.isprintable()


def test_control_characters_are_shown() -> None:
    assert clean("a\x1b[31m\n\té") == "a\\x1b[31m\\n\\té"


@pytest.mark.parametrize(("numbers", "text"), [([], ""), ([4], "4"), ([0, 1, 2, 3, 8], "0-3,8"), ([1, 3, 4], "1,3-4")])
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text


def test_a_wide_column_leaves_room_for_the_last() -> None:
    lines = table(("hosts", "state"), [[", ".join(f"rack{n}-node[1-4]" for n in range(40)), "a b"], ["x\x1b[31m", "c"]])
    assert max(map(len, lines)) < 100
    assert lines[1].endswith("a b")
    assert lines[2].strip().startswith("rack")
    assert lines[-1].split() == ["x\\x1b[31m", "c"]
