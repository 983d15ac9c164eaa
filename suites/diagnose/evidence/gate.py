"""Finds which lines of a block of bytes contain any of many texts, at the speed of memory rather than of Python.

Of each text four bytes that ordinary logs seldom hold are looked up at all positions at once; only where they stand is
the whole text compared.
May import: the standard library, numpy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

_BITS = 18
_SPREAD = np.uint32(2654435761)
_GRAM = 4


def _rarity(gram: bytes) -> int:
    """Lower-case letters, blanks and digits are what logs are full of."""
    return sum(3 if 65 <= byte <= 90 else 0 if 97 <= byte <= 122 or byte in b" 0123456789" else 2 for byte in gram)


def _slot(gram: int) -> int:
    return ((gram * int(_SPREAD)) & 0xFFFFFFFF) >> (32 - _BITS)


class Gate:
    """For texts by whom they concern: bit n of a mask stands for the nth of them."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        masks: dict[bytes, int] = defaultdict(int)
        for number, wanted in enumerate(texts):
            for one in wanted:
                masks[one.encode()] |= 1 << number
        self.always = masks.pop(b"", 0)
        """Whom every line concerns."""
        self._short = {text: mask for text, mask in masks.items() if len(text) < _GRAM}
        self._long: dict[bytes, list[tuple[bytes, int, int]]] = defaultdict(list)
        self._table = np.zeros(1 << _BITS, dtype=bool)
        for text, mask in masks.items():
            if len(text) >= _GRAM:
                at = max(range(len(text) - _GRAM + 1), key=lambda start: _rarity(text[start : start + _GRAM]))
                gram = text[at : at + _GRAM]
                self._long[gram].append((text, at, mask))
                self._table[_slot(int.from_bytes(gram, "little"))] = True

    def hits(self, block: bytes, ends: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[int, int]:
        """Line -> mask of whom it concerns, for lines that end at `ends` (positions of line feeds)."""
        places: list[tuple[int, int]] = []
        for position in self._candidates(block):
            for text, at, mask in self._long.get(block[position : position + _GRAM], ()):
                if position >= at and block.startswith(text, position - at):
                    places.append((position, mask))
        for text, mask in self._short.items():
            position = block.find(text)
            while position >= 0:
                places.append((position, mask))
                position = block.find(text, position + 1)
        found: dict[int, int] = defaultdict(int)
        if places:
            lines = np.searchsorted(ends, np.array([position for position, _ in places]))
            for line, (_, mask) in zip(lines.tolist(), places, strict=True):
                found[line] |= mask
        return found

    def _candidates(self, block: bytes) -> list[int]:
        found: list[int] = []
        for shift in range(_GRAM):
            count = (len(block) - shift) // _GRAM
            if self._long and count > 0:
                grams = np.frombuffer(block, dtype="<u4", offset=shift, count=count)
                slots = (grams * _SPREAD) >> np.uint32(32 - _BITS)
                found += (np.flatnonzero(self._table[slots]) * _GRAM + shift).tolist()
        return found
