"""Least, middle, most and last of a stream of rates, in bounded memory. Pure. May import: the standard library."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

_STEP = math.log(1.01)
"""Rates are counted in classes that are one per cent wide: some two thousand, from bytes to terabytes a second."""


@dataclass(slots=True)
class Spread:
    """`median` is right to half a per cent; the others are exact."""

    count: int = 0
    least: float | None = None
    most: float | None = None
    last: float | None = None
    _classes: Counter[int | None] = field(default_factory=Counter)

    def add(self, rate: float) -> None:
        self.count += 1
        self.least = rate if self.least is None else min(self.least, rate)
        self.most = rate if self.most is None else max(self.most, rate)
        self.last = rate
        self._classes[round(math.log(rate) / _STEP) if rate >= 1 else None] += 1

    @property
    def median(self) -> float | None:
        """The lower of the middle two; below a byte a second it is zero."""
        if self.least is None or self.most is None:
            return None
        before = 0
        for level in sorted(self._classes, key=lambda level: -1 if level is None else level):
            before += self._classes[level]
            if 2 * before >= self.count:
                middle = 0.0 if level is None else math.exp(level * _STEP)
                return min(max(middle, self.least), self.most)
        return None
