"""Asking vendors' tools again and again in a thread of its own, since they take seconds, and some hang.

May import: probes, the standard library.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Protocol

from probes.reading import State
from probes.traffic import Clock, Look

_CYCLE_SECONDS = 5.0
"""From the beginning of one round of questions to the next. Tools cost their devices something."""
_GAP_SECONDS = 0.1
"""Between two questions, so that others on this host who want to ask a tool have their turn."""
_LATE_SECONDS = 5.0
"""A question that has been open for longer is worth mentioning; its own deadline is later."""
_END_SECONDS = 3.0
"""For a tool that was killed to be gone. What is stuck in the kernel cannot be killed."""


class ToolSource(Protocol):
    """What is asked by tools. Each look comes as soon as its question is answered."""

    def looks(self) -> Iterator[Look]: ...


class Asker:
    """Looks at all of its sources, one question at a time. `end` ends the tool that is running."""

    def __init__(self, end: Callable[[], None], clock: Clock) -> None:
        self._end = end
        self._clock = clock
        self._found: queue.SimpleQueue[Look] = queue.SimpleQueue()
        self._over = threading.Event()
        self._open: tuple[str, float] | None = None
        self._thread: threading.Thread | None = None

    def hear(self, question: str) -> None:
        """Told by the visit before each question."""
        self._open = (question, self._clock())

    def start(self, sources: Sequence[ToolSource]) -> None:
        self._thread = threading.Thread(target=self._work, args=(sources,), name="asker", daemon=True)
        self._thread.start()

    def collect(self) -> list[Look]:
        """What has come since the last time."""
        return [self._found.get_nowait() for _ in range(self._found.qsize())]

    def late(self) -> str | None:
        """The question that has been open for too long."""
        question = self._open
        return question[0] if question and self._clock() - question[1] > _LATE_SECONDS else None

    def close(self) -> None:
        """Ends what runs. The thread is gone after this, but for a tool that even a kill does not end."""
        self._over.set()
        until = time.monotonic() + _END_SECONDS
        while self._thread and self._thread.is_alive() and time.monotonic() < until:
            self._end()
            self._thread.join(0.02)

    def _work(self, sources: Sequence[ToolSource]) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            for look in chain.from_iterable(map(_looks, sources)):
                self._open = None
                self._found.put(look)
                if self._over.wait(_GAP_SECONDS):
                    return
            self._open = None
            if self._over.wait(max(_GAP_SECONDS, began + _CYCLE_SECONDS - time.monotonic())):
                return


def _looks(source: ToolSource) -> Iterator[Look]:
    """One that fails must not take the others with it."""
    try:
        yield from source.looks()
    except Exception as error:
        yield Look(type(source).__name__, (), State.FAILED, f"a mistake of opsdist: {type(error).__name__}: {error}")
