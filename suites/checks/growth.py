"""Counters at two looks: which of them grew. May import: nothing."""

from __future__ import annotations

from collections.abc import Mapping


def grown(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, tuple[int, int]] | None:
    """Counters that grew -> (before, now), of those that both looks have. None where one is lower than it was: it was
    reset in between, and what the others have grown by is not known either."""
    both = {name: (before[name], now[name]) for name in now if name in before}
    if any(now_it < then for then, now_it in both.values()):
        return None
    return {name: (then, now_it) for name, (then, now_it) in both.items() if now_it > then}


RESET = "the counters were reset between the two looks"
