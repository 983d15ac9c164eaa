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
    """`at` is a point of POINTS or a number of an iteration, counted over the run without warm-up."""

    fault: str
    rank: int
    at: str


class Injector:
    """One rank's share of the injections of a run."""

    def __init__(self, injections: Sequence[Mapping[str, Any]], rank: int) -> None:
        self._mine = [Injection(**injection) for injection in injections if injection["rank"] == rank]

    def at_rendezvous(self) -> None:
        self._strike(["rendezvous"])

    def before_iteration(self, iteration: int, of: int) -> None:
        self._strike(self._points(iteration, of))

    def corrupts(self, iteration: int, of: int) -> bool:
        points = self._points(iteration, of)
        return any(injection.fault == "corrupt" and injection.at in points for injection in self._mine)

    @property
    def active(self) -> bool:
        return bool(self._mine)

    @staticmethod
    def _points(iteration: int, of: int) -> list[str]:
        points = [str(iteration)]
        points += ["first"] if iteration == 0 else []
        points += ["middle"] if iteration == of // 2 else []
        return points

    def _strike(self, points: Sequence[str]) -> None:
        for injection in self._mine:
            action = FAULTS[injection.fault][0]
            if injection.at in points and action:
                action()
