"""Finds which lines of a block of bytes contain any of many texts, at the speed of memory rather than of Python.

Of each text four bytes that ordinary logs seldom hold are looked up at all positions at once; only where they stand is
the whole text compared.
May import: the standard library, numpy.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]

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
        self._short = {re.compile(re.escape(text)): mask for text, mask in masks.items() if len(text) < _GRAM}
        self._long: dict[bytes, list[tuple[bytes, int, int]]] = defaultdict(list)
        self._table = np.zeros(1 << _BITS, dtype=bool)
        for text, mask in masks.items():
            if len(text) >= _GRAM:
                at = max(range(len(text) - _GRAM + 1), key=lambda start: _rarity(text[start : start + _GRAM]))
                gram = text[at : at + _GRAM]
                self._long[gram].append((text, at, mask))
                self._table[_slot(int.from_bytes(gram, "little"))] = True
        self._wanted = np.frombuffer(b"".join(self._long), dtype="<u4")

    def hits(self, block: bytes, ends: Positions) -> Positions:
        """The mask of whom it concerns, for each line of a block. `ends` are the positions of line feeds; what stands
        behind the last of them is a line too."""
        masks = np.zeros(len(ends) + 1, dtype=np.int64)
        for mask, positions in self._places(block):
            masks[np.searchsorted(ends, positions)] |= mask
        return masks

    def _places(self, block: bytes) -> Iterator[tuple[int, Positions]]:
        """Where texts begin, with whom each concerns."""
        data = np.frombuffer(block, dtype=np.uint8)
        for gram, positions in self._candidates(block):
            for text, at, mask in self._long[gram]:
                starts = positions - at
                starts = starts[(starts >= 0) & (starts <= len(block) - len(text))]
                for place, byte in enumerate(text):
                    if not at <= place < at + _GRAM:
                        starts = starts[data[starts + place] == byte]
                yield mask, starts
        for one, mask in self._short.items():
            yield mask, np.array([found.start() for found in one.finditer(block)], dtype=np.int64)

    def _candidates(self, block: bytes) -> Iterator[tuple[bytes, Positions]]:
        """Grams that are wanted, with where they stand."""
        for shift in range(_GRAM):
            count = (len(block) - shift) // _GRAM
            if self._long and count > 0:
                grams = np.frombuffer(block, dtype="<u4", offset=shift, count=count)
                slots = (grams * _SPREAD) >> np.uint32(32 - _BITS)
                found = np.flatnonzero(self._table[slots])
                found = found[np.isin(grams[found], self._wanted)]
                for gram in np.unique(grams[found]):
                    yield gram.tobytes(), found[grams[found] == gram] * _GRAM + shift
