"""The progress line of a long run: on stderr, only on a terminal, gone when the run is over.

May import: rich (imported when a terminal is there), screen.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

from opsdist_cli.screen import Screen, discard, nobody_reads


class ProgressLine:
    """Case, iteration, and time left. Use as a context."""

    def __init__(self, screen: Screen, total: int) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        if sys.stderr.isatty() and screen.verbosity >= 0:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._progress = Progress(
                TextColumn("{task.description}"), BarColumn(bar_width=24), TimeRemainingColumn(),
                console=Console(stderr=True, no_color=not screen.colored(sys.stderr)), transient=True,
            )  # fmt: skip
            self._task = self._progress.add_task("starting ranks", total=total)

    def __enter__(self) -> ProgressLine:
        if self._progress:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress:
            try:
                self._progress.stop()
            except OSError as failed:  # the terminal may be gone, which is no reason to lose a record
                if not nobody_reads(failed, sys.stderr):
                    raise
                discard(sys.stderr)

    def show(self, text: str, done: float) -> None:
        """`done` of the total, which may be a fraction of a case."""
        if self._progress and self._task is not None:
            self._progress.update(self._task, description=text, completed=done)
