"""Ranks in texts: lists of them, read and written.

May import: the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

MOST_RANKS = 1 << 17
"""What tells of more is garbled."""
_NUMBER = re.compile(r"\d{1,18}")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_SHOWN = 8


def listed(text: str) -> tuple[int, ...]:
    """Of `[0, 1, 7]`, without what is no rank of any job."""
    return tuple(rank for rank in map(int, _NUMBER.findall(text)) if rank < MOST_RANKS)


def ranged(text: str) -> tuple[int, ...]:
    """Of `0-2,5`."""
    return tuple(islice(_ranged(text), MOST_RANKS))


def _ranged(text: str) -> Iterator[int]:
    for part in text.split(","):
        if found := _RANGE.fullmatch(part):
            yield from range(int(found[1]), int(found[2] or found[1]) + 1)


def runs(ranks: Iterable[int]) -> list[str]:
    """`0-3` and `8`, in their order."""
    found: list[list[int]] = []
    for rank in ranks:
        if found and rank == found[-1][1] + 1:
            found[-1][1] = rank
        else:
            found.append([rank, rank])
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]


def some(ranks: Sequence[int]) -> str:
    """For a sentence: `0-3, 8`, and no more of a long list than one looks at."""
    shown = runs(ranks)
    return ", ".join(shown[:_SHOWN]) + (" and more" if len(shown) > _SHOWN else "")
