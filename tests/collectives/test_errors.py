"""The words for a name that nobody knows."""

from __future__ import annotations

from collectives.errors import nearest, unknown

WORDS = ("ring", "tree", "two_shot")


def test_the_word_that_was_probably_meant() -> None:
    assert (nearest("RIGN", WORDS), nearest("zzz", WORDS)) == ("ring", None)
    assert unknown("algorithm", "rign", WORDS) == "unknown algorithm 'rign': did you mean 'ring'?"


def test_where_nothing_is_near_all_are_named() -> None:
    assert unknown("algorithm", "zzz", iter(WORDS)) == "unknown algorithm 'zzz': known: ring, tree, two_shot"
