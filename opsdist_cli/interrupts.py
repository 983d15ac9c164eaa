"""Ctrl-C and SIGTERM as exceptions, and their exit codes. May import: the standard library."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator


class Terminated(BaseException):
    """SIGTERM, unwound like Ctrl-C, so that whatever cleans up on one cleans up on the other."""


@contextlib.contextmanager
def signals_raised() -> Iterator[None]:
    """Within, Ctrl-C and SIGTERM raise KeyboardInterrupt and Terminated; an ignored one stays ignored."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    watched = [number for number, handler in previous.items() if handler is not signal.SIG_IGN]
    for number in watched:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in watched:
            signal.signal(number, previous[number])


def _interrupt(number: int, frame: object) -> None:
    """Say so at once, since ending the ranks may take a moment, and past any stream that may be blocked."""
    again = "Ctrl-C again" if number == signal.SIGINT else "SIGTERM again"
    with contextlib.suppress(OSError):
        os.write(2, f"opsdist: stopping; {again} ends at once\n".encode())
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def exit_code_of(error: BaseException) -> int:
    """130 or 143."""
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)
