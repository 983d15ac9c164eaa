"""Which counters grew between two looks."""

from __future__ import annotations

from suites.checks.growth import grown


def test_what_grew() -> None:
    assert grown({"a": 1, "b": 2, "gone": 5}, {"a": 1, "b": 7, "new": 9}) == {"b": (2, 7)}
    assert grown({"a": 1}, {"a": 1}) == {}
    assert grown({}, {"a": 1}) == {}


def test_a_counter_that_shrank_was_reset() -> None:
    assert grown({"a": 3, "b": 2}, {"a": 1, "b": 7}) is None
