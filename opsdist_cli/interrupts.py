"""Ctrl-C and SIGTERM as exceptions, and their exit codes. May import: the standard library."""

from __future__ import annotations

import signal


class Terminated(BaseException):
    """SIGTERM, unwound like Ctrl-C, so that whatever cleans up on one cleans up on the other."""


def raise_terminated(number: int, frame: object) -> None:
    """A signal handler."""
    raise Terminated


def exit_code_of(error: BaseException) -> int:
    """130 or 143."""
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)
