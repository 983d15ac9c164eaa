"""Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) as exceptions, and their exit codes.

May import: the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass


class Terminated(BaseException):
    """SIGTERM or SIGHUP, unwound like Ctrl-C, so that whatever cleans up on one cleans up on the others."""


@dataclass(slots=True)
class Raised:
    """What a signal has raised. It may come out as something else: an import that is interrupted fails as an import."""

    stop: BaseException | None = None

    def interrupt(self, number: int, frame: object) -> None:
        """Say so at once, since ending the ranks may take a moment, and past any stream that may be blocked."""
        again = "Ctrl-C again" if number == signal.SIGINT else f"{signal.Signals(number).name} again"
        with contextlib.suppress(OSError):
            os.write(2, f"opsdist: stopping; {again} ends at once\n".encode())
        self.stop = KeyboardInterrupt() if number == signal.SIGINT else Terminated()
        raise self.stop


@contextlib.contextmanager
def signals_raised() -> Iterator[Raised]:
    """Within, Ctrl-C raises KeyboardInterrupt, SIGTERM and SIGHUP Terminated; an ignored one (nohup) stays ignored."""
    raised = Raised()
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    watched = [number for number, handler in previous.items() if handler is not signal.SIG_IGN]
    for number in watched:
        signal.signal(number, raised.interrupt)
    try:
        yield raised
    finally:
        for number in watched:
            signal.signal(number, previous[number])


def exit_code_of(error: BaseException) -> int:
    """130 or 143."""
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)


def forget_broken_import() -> None:
    """Let the exit code be ours also where Ctrl-C has broken an import.

    `python -m` ends by SIGINT, whatever code it is given, where the last text that Python executed was interrupted, and
    a dataclass is made by executing text. Text that comes to its end takes its place.
    """
    exec("")
