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


@dataclass(frozen=True, slots=True)
class Injectable:
    """A fault that can be made. `act` is what it does to the rank that it strikes; None where the job does it, which
    has the buffers and the calls."""

    summary: str
    act: Callable[[], None] | None = None
    in_perf: bool = False
    """Whether it makes sense where all ranks repeat one collective."""


FAULTS: dict[str, Injectable] = {
    "missing": Injectable("leaving out this call and all later ones"),
    "exit0": Injectable("leaving early with exit 0", lambda: sys.exit(0), in_perf=True),
    "sleep": Injectable("never entering", lambda: time.sleep(3600), in_perf=True),
    "raise": Injectable("an exception", _raise, in_perf=True),
    "kill": Injectable("SIGKILL", lambda: os.kill(os.getpid(), signal.SIGKILL), in_perf=True),
    "stop": Injectable("SIGSTOP", lambda: os.kill(os.getpid(), signal.SIGSTOP), in_perf=True),
    "mismatch-op": Injectable("another collective than the others"),
    "mismatch-size": Injectable("another number of elements"),
    "mismatch-dtype": Injectable("another element type"),
    "mismatch-root": Injectable("another root"),
    "reorder": Injectable("two calls in swapped order"),
    "cycle": Injectable("all ranks of the group receive before they send, around a ring"),
    "slow": Injectable("late at every call from there on"),
    "link-down": Injectable("the link of this rank's host taken down"),
    "corrupt": Injectable("one wrong element in a received buffer", in_perf=True),
}
"""By name."""

IN_PERF = tuple(name for name, fault in FAULTS.items() if fault.in_perf)

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
            if action := FAULTS[injection.fault].act:
                action()
