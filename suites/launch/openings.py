"""Which agents are to be started, and when: not all at the same time, and again after what may pass.

May import: the standard library.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

MOST_CONNECTING = 32
"""Agents that are being started at once: a bastion would see all of them at the same time."""
ATTEMPTS = 4
_BACKOFF_SECONDS = 0.5


@dataclass(slots=True)
class Openings:
    """Agents that are still to be started, by number."""

    _waiting: list[tuple[float, int]] = field(default_factory=list)
    """When at the earliest, and which."""
    _attempts: dict[int, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, count: int) -> None:
        """All of so many, now."""
        self._waiting += [(0.0, number) for number in range(count)]

    def clear(self) -> None:
        self._waiting.clear()

    def due(self, connecting: int) -> list[int]:
        """Those whose turn it is, while so many are being started."""
        now = time.monotonic()
        due = sorted(entry for entry in self._waiting if entry[0] <= now)[: max(MOST_CONNECTING - connecting, 0)]
        for entry in due:
            self._waiting.remove(entry)
        return [number for _, number in due]

    def again(self, number: int) -> bool:
        """Once more, a little later and not all at the same time; whether there is a try left."""
        tried = self._attempts[number] = self._attempts.get(number, 1)
        if tried >= ATTEMPTS:
            return False
        self._attempts[number] += 1
        # Jitter spreads attempts, it keeps no secret.
        later = _BACKOFF_SECONDS * 2**tried * (0.5 + random.random())
        self._waiting.append((time.monotonic() + later, number))
        return True
