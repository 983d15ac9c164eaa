"""A world of one whose clock is told, not read: backends that keep a diary, and the rank's side of perf run on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from collectives.communicator import Call, Communicator, Stamps, Sync, Work, timed
from collectives.dtypes import DTYPES, Array
from collectives.placement import Placement
from suites.case import Case
from suites.jobs.perf import run
from suites.jobs.settings import Settings
from suites.launch.rank import RankContext

CASE = Case("told", "allreduce", "any", 4000, 1000, "float32", "sum", 0, False)
SETTINGS = Settings(
    loop=20, warmup=5, sync="each", check=True, beyond=0, loop_asked=True, budget=None, peak=None, buffers="registered",
    counts=(1,),
)  # fmt: skip


@dataclass
class Clock:
    """Stands still but for what runs, and one millisecond whenever the copies of the ceiling are timed."""

    now: int = 10**9

    def monotonic(self) -> float:
        return self.now / 1e9

    def monotonic_ns(self) -> int:
        self.now += 10**6
        return self.now


@dataclass
class ToldCall:
    """A call of one rank: a copy, when it does as it should. Each run takes `comm.seconds`."""

    comm: ToldCommunicator
    collective: str
    send: Array | None
    recv: Array | None
    algorithm: str = "any"
    why: str = "told"

    def run(self) -> None:
        number = len(self.comm.runs)
        if self.collective == self.comm.watched and self.recv is not None and len(self.recv) > 1:
            self.comm.runs.append(Run(self, bool((self.recv.view(np.uint8) == 0xFF).all()), self.comm.fills))
            self.comm.diary.append(self.comm.name)
            passed = self.comm.clock.now / 1e9 - 1
            self.comm.clock.now += round(self.comm.seconds * (1 + self.comm.drift * passed) * 1e9)
            if number in self.comm.idle:
                return
        if self.send is not None and self.recv is not None:
            self.recv[:] = self.send

    def start(self) -> Work:
        raise NotImplementedError

    def time(self, iterations: int, sync: Sync, batch: int = 1, rotation: Sequence[Call] = ()) -> Stamps:
        runs = [self.run, *(call.run for call in rotation)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("collectives.communicator.time", SimpleNamespace(monotonic_ns=lambda: self.comm.clock.now))
            return timed(runs, iterations, batch if sync == "none" else 1, lambda: None)


@dataclass(frozen=True)
class Run:
    """One run of the measured collective: by which call, into a poisoned buffer?, after how many fills of inputs?"""

    call: ToldCall
    poisoned: bool
    fills: int


@dataclass
class ToldCommunicator:
    """A world of one that keeps a diary."""

    clock: Clock
    seconds: float = 1e-3
    drift: float = 0.0
    """How much longer a run takes for each second that has passed before, as a part of `seconds`."""
    watched: str = "allreduce"
    idle: frozenset[int] = frozenset()
    """Runs, counted from 0, that do nothing at all."""
    rank: int = 0
    size: int = 1
    library: str = "told 1.0"
    transport: str = "none"
    registered: int = 0
    name: str = "told"
    diary: list[str] = field(default_factory=list)
    """Whose turn it was, run by run; told communicators may share it."""
    runs: list[Run] = field(default_factory=list)
    fills: int = 0
    barriers: list[int] = field(default_factory=list)
    """After how many runs."""
    allocated: list[str] = field(default_factory=list)
    """Types of elements, in order."""

    def allocate(self, count: int, dtype: str) -> Array:
        self.allocated.append(dtype)
        return np.empty(count, DTYPES[dtype])

    def bind(self, collective: str, send: Array | None, recv: Array | None, **_: Any) -> Call:
        return ToldCall(self, collective, send, recv)

    def barrier(self) -> None:
        self.barriers.append(len(self.runs))

    def overhead(self, iterations: int) -> Stamps:
        return np.zeros((iterations, 2), np.int64)

    def close(self) -> None: ...

    # As a backend.
    def open(self, *_: Any) -> Communicator:
        return cast(Communicator, self)


class NoStore:
    def __init__(self, *_: Any) -> None: ...

    def close(self) -> None: ...


def tell(patch: pytest.MonkeyPatch, *comms: ToldCommunicator) -> None:
    """Have the job open these communicators and read their clock. One alone answers to any name."""
    named = {comm.name: comm for comm in comms}
    patch.setattr("suites.jobs.perf.time", comms[0].clock)
    patch.setattr("suites.jobs.rounds.time", comms[0].clock)
    patch.setattr("suites.jobs.ceiling.time", comms[0].clock)
    # A machine without the core, whose loops have a clock of their own.
    patch.setattr("collectives.native.core", lambda: None)
    patch.setattr("suites.jobs.perf.backend_named", lambda name: named[name] if len(named) > 1 else comms[0])
    patch.setattr("suites.jobs.perf.Store", NoStore)


def job(
    *cases: Case, inject: Sequence[Mapping[str, Any]] = (), loop: int = 20, rounds: Sequence[Sequence[int]] = (),
    **given: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """Run the job; all that it reports."""
    told: list[dict[str, Any]] = []
    arguments = {
        "cases": [asdict(case) for case in cases or (CASE,)],
        "rounds": rounds or [[index] for index in range(len(cases or (CASE,)))],
        "settings": asdict(replace(SETTINGS, loop=loop, **given)),
        "inject": inject,
    }
    run(RankContext(Placement(0, 1, 0, 1, 0, 1), arguments, "token", 1.0, "store", told.append))
    return told


def reports(*cases: Case, **given: Any) -> tuple[list[dict[str, Any]], list[int]]:
    """What the job reports: its cases, and the iterations done at each progress."""
    told = job(*cases, **given)
    return (
        [report for report in told if report["type"] in ("case", "skipped")],
        [report["done"] for report in told if report["type"] == "progress"],
    )
