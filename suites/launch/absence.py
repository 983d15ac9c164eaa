"""While whoever takes the events of a run is away, the agents of other hosts still hear that somebody is there.

A reader of stdout that has stopped reading, or a terminal on which somebody has typed Ctrl-S, holds the controller up
in the middle of a line; without a word for long, agents would end their ranks.
May import: the standard library, deadlines.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from suites.launch import deadlines


class Absence:
    """`with absence:` is around what the caller does meanwhile.

    Once it was started, `stand_in` is called every now and then while the caller is away, and never while it is not.
    """

    def __init__(self, stand_in: Callable[[], None]) -> None:
        self._stand_in = stand_in
        self._lock = threading.Lock()
        self._is_away = False
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._serve, daemon=True, name="opsdist-alive")
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def __enter__(self) -> None:
        with self._lock:
            self._is_away = True

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._is_away = False

    def _serve(self) -> None:
        while not self._over.wait(deadlines.BEAT_SECONDS):
            with self._lock:
                if self._is_away:
                    self._stand_in()
