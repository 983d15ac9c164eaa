"""Inputs that make every wrong result visible, and the check of outputs against them.

A value depends on rank and index, so swapped ranks and misplaced chunks show. The fold of any subset of ranks is exact
in the dtype at this world size, so the check is exact whatever the order (nccl-tests' idea of verifiable inputs).
Values repeat with a prime period, so filling and checking run at the speed of memory and need no copy of the buffer;
an offset would have to be a multiple of the prime to hide.
May import: numpy, collectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from collectives.dtypes import DTYPES, OPERATORS, Array
from collectives.ops import Piece

PERIOD = 65521
"""By default: the largest prime below 2^16."""

_EXACT_TO = {"int8": 127, "uint8": 255, "float16": 2048, "bfloat16": 256}
"""Up to here every whole number can be represented; elsewhere far beyond `_ENOUGH`."""
_ENOUGH = 1 << 20
_DOUBLINGS = {"int8": 6, "uint8": 7, "int32": 30, "uint32": 31, "float16": 15}
"""How often 1 can be doubled exactly; elsewhere at least 62 times."""

Values = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a buffer: how many elements, and the first of them."""

    count: int
    index: int
    expected: float
    got: float


@dataclass(frozen=True, slots=True)
class Pattern:
    """Inputs for `contributors` ranks whose values are folded by `operator` (None: values are only moved)."""

    dtype: str
    operator: str | None
    contributors: int
    period: int = PERIOD
    """A prime. A shorter one is sooner worked out, where buffers are small or used once."""

    def fill(self, view: Array, rank: int) -> None:
        """The input of `rank`."""
        template = _template(self, rank)
        for start in range(0, len(view), self.period):
            part = view[start : start + self.period]
            part[:] = template[: len(part)]

    def check(self, view: Array, pieces: Sequence[Piece]) -> Wrong | None:
        """Compare a receive buffer, bit by bit, with what the oracle says it must hold."""
        count, first = 0, None
        bits = np.dtype(f"u{view.dtype.itemsize}")
        for piece in pieces:
            template = _expected(self, piece.ranks)
            position = piece.start
            while position < piece.stop:
                phase = (piece.source + position - piece.start) % self.period
                length = min(self.period - phase, piece.stop - position)
                have, want = view[position : position + length], template[phase : phase + length]
                differ = have.view(bits) != want.view(bits)
                if differ.any():
                    count += int(np.count_nonzero(differ))
                    if first is None:
                        at = int(np.argmax(differ))
                        first = (position + at, float(want[at]), float(have[at]))
                position += length
        return Wrong(count, *first) if first else None


@cache
def _template(pattern: Pattern, rank: int) -> Array:
    """One period of a rank's input."""
    return _values(pattern, rank).astype(DTYPES[pattern.dtype])


@cache
def _expected(pattern: Pattern, ranks: tuple[int, ...]) -> Array:
    """One period of the fold over `ranks`."""
    dtype = DTYPES[pattern.dtype]
    if len(ranks) == 1:
        return _template(pattern, ranks[0])
    assert pattern.operator, f"{len(ranks)} ranks are folded without an operator"
    total = _values(pattern, ranks[0])
    for rank in ranks[1:]:
        OPERATORS[pattern.operator](total, _values(pattern, rank), out=total)
    return _average(total, len(ranks), dtype) if pattern.operator == "avg" else total.astype(dtype)


def _average(total: Values, number: int, dtype: np.dtype[Any]) -> Array:
    """The exact sum divided once, in the precision the engine folds in, then rounded once."""
    if dtype.kind in "iu":
        return (total // number).astype(dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    quotient: Array = np.divide(total.astype(wide), wide(number)).astype(dtype)
    return quotient


def _values(pattern: Pattern, rank: int) -> Values:
    """Whole numbers, not below 0, one for each index of a period."""
    index = np.arange(pattern.period, dtype=np.uint64)
    stride = np.uint64((rank + 1) * 0xD1B54A32D192ED03 % 2**64)
    mixed = _mix(index * np.uint64(0x9E3779B97F4A7C15) + stride)
    number = pattern.contributors
    limit = min(_EXACT_TO.get(pattern.dtype, _ENOUGH), _ENOUGH)
    # Which of the ranks in turn is this one, where only some may contribute? And how many do: a number that differs
    # from index to index, so that the fold does too.
    turn, some = (_mix(index) + np.uint64(rank)) % np.uint64(number), _mix(~index)
    if pattern.operator == "prod":
        most = min(_DOUBLINGS.get(pattern.dtype, 62), max(number // 2, 1))
        return np.where(turn < some % np.uint64(most + 1), 2, 1).astype(np.int64)
    if pattern.operator in ("sum", "avg") and number > limit:
        return (turn < limit - some % np.uint64(limit // 2)).astype(np.int64)
    largest = limit // number if pattern.operator in ("sum", "avg") else limit
    return (mixed % np.uint64(largest + 1)).astype(np.int64)


def _mix(value: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """splitmix64's finaliser (S. Vigna): every input bit changes about half of the output bits."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
