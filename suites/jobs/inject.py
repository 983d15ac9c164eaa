"""Faults made on purpose, so that tests and `suite smoke` can prove that they are caught and named.

May import: the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class InjectedError(Exception):
    """Raised by the fault `raise`."""


def _raise() -> None:
    raise InjectedError("injected fault")


FAULTS: dict[str, tuple[Callable[[], None] | None, str]] = {
    "raise": (_raise, "an exception"),
    "exit0": (lambda: sys.exit(0), "leaving early with exit 0"),
    "kill": (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL"),
    "stop": (lambda: os.kill(os.getpid(), signal.SIGSTOP), "SIGSTOP"),
    "sleep": (lambda: time.sleep(3600), "never entering"),
    "corrupt": (None, "one wrong element in a received buffer"),
}
"""name -> (what it does to the rank, summary). `corrupt` is done by the job, which has the buffer."""

POINTS = ("rendezvous", "first", "middle")


@dataclass(frozen=True, slots=True)
class Injection:
    """`at` is a point of POINTS or the number of an iteration of each case, counted without warm-up."""

    fault: str
    rank: int
    at: str

    def strikes(self, start: int, stop: int, of: int) -> bool:
        """Whether it is due in the iterations [start, stop) of `of`."""
        number = {"rendezvous": -1, "first": 0, "middle": of // 2}.get(self.at)
        return start <= (int(self.at) if number is None else number) < stop


class Injector:
    """The injections of a run, as one rank sees them."""

    def __init__(self, injections: Sequence[Mapping[str, Any]], rank: int) -> None:
        self._all = [Injection(**injection) for injection in injections]
        self._mine = [injection for injection in self._all if injection.rank == rank]

    def at_rendezvous(self) -> None:
        self._do([injection for injection in self._mine if injection.at == "rendezvous"])

    def before(self, start: int, stop: int, of: int) -> None:
        """Do what is due in the iterations [start, stop)."""
        self._do([injection for injection in self._mine if injection.strikes(start, stop, of)])

    def corrupts(self, start: int, stop: int, of: int) -> bool:
        """Whether this rank's result of one of the iterations is to be made wrong."""
        return any(injection.fault == "corrupt" and injection.strikes(start, stop, of) for injection in self._mine)

    def inspects(self, start: int, stop: int, of: int) -> bool:
        """Whether any rank's result of one of the iterations is made wrong, so that all must check it."""
        return any(injection.fault == "corrupt" and injection.strikes(start, stop, of) for injection in self._all)

    @property
    def active(self) -> bool:
        return bool(self._all)

    @staticmethod
    def _do(injections: Sequence[Injection]) -> None:
        for injection in injections:
            if action := FAULTS[injection.fault][0]:
                action()
