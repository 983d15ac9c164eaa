"""A wire inside one process, for tests: every rank has a box, and posting copies into it.

Order between pairs may be drawn at random, as real networks do; within a pair it is kept.
May import: base.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Sequence

from collectives.transport.base import Bytes


class Hub:
    """The boxes of all ranks. With `shuffle`, the next message to arrive is of a pair drawn at random."""

    def __init__(self, size: int, shuffle: random.Random | None = None) -> None:
        self.size = size
        self._boxes: list[dict[int, deque[tuple[bytes, bytes]]]] = [{} for _ in range(size)]
        self._news = threading.Condition()
        self._shuffle = shuffle

    def put(self, source: int, target: int, message: tuple[bytes, bytes]) -> None:
        with self._news:
            self._boxes[target].setdefault(source, deque()).append(message)
            self._news.notify_all()

    def take(self, rank: int, timeout: float) -> list[tuple[bytes, bytes]]:
        box = self._boxes[rank]
        with self._news:
            if not any(box.values()) and timeout > 0:
                self._news.wait_for(lambda: any(box.values()), timeout)
            pairs = [source for source, messages in box.items() if messages]
            if not pairs:
                return []
            source = self._shuffle.choice(pairs) if self._shuffle else pairs[0]
            return [box[source].popleft()]


class InprocWire:
    """One rank's end."""

    name = "inproc"

    def __init__(self, hub: Hub, rank: int) -> None:
        self._hub, self._rank = hub, rank

    def post(self, peer: int, header: bytes, payload: Bytes) -> None:
        self._hub.put(self._rank, peer, (header, bytes(payload)))

    def poll(self, timeout: float) -> Sequence[tuple[Bytes, Bytes]]:
        return self._hub.take(self._rank, timeout)

    def close(self, deliver: bool = True) -> None:
        pass
