"""The rank's side of `perf`: warm up, agree, time, check, report, case by case.

The policy (how often, in which batches, what is checked) is here; the timing loop itself belongs to the backend's Call.
May import: numpy, collectives, arena, inject, pattern, sweep, launch.rank's context.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

import numpy as np

from collectives.backends import backend_named
from collectives.communicator import Call, Communicator, Stamps
from collectives.dtypes import DTYPES, Array
from collectives.ops import COLLECTIVES
from collectives.rendezvous import Store
from suites.case import Case
from suites.jobs.arena import Arena, open_arena
from suites.jobs.inject import Injector
from suites.launch.rank import RankContext
from suites.measure import ceiling_of
from suites.pattern import Pattern, Wrong
from suites.report import IMPLAUSIBLE

CHUNK_SECONDS = 0.25
"""Iterations run in chunks of about this long; between them, untimed, progress is reported."""
BATCH_SECONDS = 200e-6
"""With sync none, a sample is a batch of at least this long, so that reading the clock does not matter."""
OVERHEAD_ITERATIONS = 1000
LATENCY_ITERATIONS = 20
REPEATS = 3
"""How often a wrong result is tried again, to say "always" or "sometimes"."""
LEAST_FOR_CEILING = 64 << 10
"""Where no rank's buffers reach this, latency is measured, not bandwidth: no ceiling."""
LEAST_COPIED = 8 << 10
"""A rank with less (a leaf of gather) does not take part in the ceiling: its copies would measure numpy."""
COPIED_BYTES = 8 << 20
"""What a rank reads and writes, at the least, in a repetition of the ceiling: about 1 ms, so that leaving the barrier
does not matter."""
_POISON = 0xFF
"""Fills a receive buffer before a checked iteration, so that an old result cannot pass for a new one."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What all cases of a run share. Times in seconds; `ends` is a time of this host's monotonic clock, or None."""

    loop: int
    warmup: int
    sync: Any
    check: bool
    beyond: int
    """Bytes a rank's rotation of buffers must exceed; 0 for a warm cache."""
    loop_asked: bool
    ends: float | None
    peak: float | None
    """Bus bandwidth in bytes/s that replaces the measured ceiling."""


def run(context: RankContext) -> None:
    """The job."""
    # In place, iterations fold their own results again and overflow in time; what is checked starts from fresh inputs.
    np.seterr(all="ignore")
    injector = Injector(context.arguments["inject"], context.placement.rank)
    context.phase("rendezvous")
    injector.at_rendezvous()
    settings = Settings(**context.arguments["settings"])
    cases = [_case(fields) for fields in context.arguments["cases"]]
    store = Store(context.store, context.token)
    comms: dict[str, Communicator] = {}
    for name in dict.fromkeys(case.backend for case in cases):
        comms[name] = backend_named(name).open(context.placement, store, context.token, context.timeout)
    store.close()
    context.phase("start")
    shared = {name: _Shared(comm) for name, comm in comms.items()}
    for name, comm in comms.items():
        context.report({"type": "ready", "backend": name, **_floor(comm)})
    for index, case in enumerate(cases):
        context.phase(f"case {index} ({case.describe()})")
        left = len(cases) - index
        _CaseRun(index, case, comms[case.backend], shared[case.backend], settings, injector, context).run(left)
    context.phase("end")
    context.report({"type": "peak", "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024})
    for comm in comms.values():
        comm.barrier()
    # Only here: closing delivers what is under way, and after a fault that would hold its report back.
    for comm in comms.values():
        comm.close()


def _case(fields: Mapping[str, Any]) -> Case:
    return Case(**{**fields, "groups": tuple(tuple(group) for group in fields["groups"])})


def _floor(comm: Communicator) -> dict[str, Any]:
    """What the harness itself costs, and the shortest time in which ranks can agree at all. Stamps in ns."""
    comm.barrier()
    overhead = comm.overhead(OVERHEAD_ITERATIONS)
    latency = comm.bind("barrier", None, None).time(LATENCY_ITERATIONS, "none")
    return {"overhead": (overhead[:, 1] - overhead[:, 0]).tolist(), "latency": latency.tolist()}


class _Shared:
    """Small collectives with which the ranks agree on what they do next. Rank 0's word counts."""

    def __init__(self, comm: Communicator) -> None:
        self._rank = comm.rank
        self._words = np.zeros(4, np.int64)
        self._in, self._out = np.zeros(1, np.float64), np.zeros(1, np.float64)
        send = self._words if comm.rank == 0 else None
        self._tell = comm.bind("broadcast", send, self._words)
        self._folds = {
            operator: comm.bind("allreduce", self._in, self._out, operator=operator) for operator in ("max", "sum")
        }

    def agree(self, *words: int) -> list[int]:
        if self._rank == 0:
            self._words[: len(words)] = words
        self._tell.run()
        return [int(word) for word in self._words[: len(words)]]

    def largest(self, value: float) -> float:
        """The maximum over ranks."""
        return self._fold("max", value)

    def total(self, value: float) -> float:
        """The sum over ranks."""
        return self._fold("sum", value)

    def _fold(self, operator: str, value: float) -> float:
        self._in[0] = value
        self._folds[operator].run()
        return float(self._out[0])


@dataclass(slots=True)
class _Found:
    """What the checks of a case have found on this rank."""

    wrong: Wrong | None = None
    checked: int = 0
    failed: int = 0

    def add(self, wrong: Wrong | None) -> None:
        self.checked += 1
        self.failed += wrong is not None
        self.wrong = self.wrong or wrong


@dataclass(slots=True)
class _CaseRun:
    """One case on one rank."""

    index: int
    case: Case
    comm: Communicator
    shared: _Shared
    settings: Settings
    injector: Injector
    context: RankContext
    _arena: Arena = field(init=False)
    _calls: list[Call] = field(init=False)
    _pattern: Pattern = field(init=False)
    _next: int = 0
    """The buffer set whose turn it is."""

    def run(self, left: int) -> None:
        settings, started = self.settings, time.monotonic()
        over = settings.ends is not None and started >= settings.ends
        if self.shared.agree(int(over))[0]:
            self.context.report({"type": "skipped", "index": self.index, "reason": "the time budget was used up"})
            return
        self._prepare()
        estimate = self._warm_up()
        share = None if settings.ends is None else started + max(settings.ends - started, 0) / left
        iterations, chunk, batch = self.shared.agree(*self._plan(estimate, share))
        report = self._measure(iterations, chunk, batch)
        if self._implausible(report):
            report = {**self._measure(iterations, chunk, batch), "again": True}
        self.context.report({"type": "case", "index": self.index, "batch": batch, "asked": settings.loop, **report})

    def _prepare(self) -> None:
        case, row = self.case, COLLECTIVES[self.case.collective]
        shape = case.shape(self.comm.rank, self.comm.size)
        self._arena = open_arena(case, self.comm, self.settings.beyond)
        counts: dict[str, Any] = {}
        if case.collective == "alltoallv":
            counts = {"send_counts": shape.send_counts, "recv_counts": shape.recv_counts}
        self._calls = [
            self.comm.bind(
                case.collective, pair.send, pair.recv, operator=case.operator, root=case.root,
                algorithm=case.algorithm, groups=case.groups, **counts,
            )
            for pair in self._arena.sets
        ]  # fmt: skip
        operator = case.operator if row.reduces else None
        self._pattern = Pattern(case.dtype, operator, self.comm.size if row.reduces else 1)
        self._refill()

    def _refill(self) -> None:
        """Fresh inputs everywhere, and out of the caches where that is asked for."""
        for index in range(len(self._arena.sets)):
            self._refill_set(index)
        self._arena.push_out()

    def _refill_set(self, index: int) -> None:
        send = self._arena.sets[index].send
        if send is not None:
            self._pattern.fill(send, self.comm.rank)

    def _warm_up(self) -> float:
        """Seconds of one iteration, as this rank saw most of the warm-up."""
        stamps = self._time(max(self.settings.warmup, 1), self.settings.sync)
        return float(np.median(stamps[:, 1] - stamps[:, 0])) / 1e9

    def _plan(self, estimate: float, share: float | None) -> tuple[int, int, int]:
        """(iterations, iterations a chunk, iterations a batch). Only unasked loops are cut."""
        settings = self.settings
        estimate = max(estimate, 1e-7)
        iterations = settings.loop
        if share is not None and not settings.loop_asked:
            iterations = min(iterations, max(int((share - time.monotonic()) / estimate), 1))
        batch = 1 if settings.sync == "each" else min(max(int(np.ceil(BATCH_SECONDS / estimate)), 1), iterations)
        most = int(CHUNK_SECONDS / estimate)
        if self._arena.layout.spread:
            most = min(most, len(self._arena.sets))  # a set used twice would be warm the second time
        return iterations, max(most // batch * batch, batch), batch

    def _measure(self, iterations: int, chunk: int, batch: int) -> dict[str, Any]:
        found = _Found()
        before = self._ceiling()
        self._refill()
        stamps, runs = [], []
        each = self.settings.sync == "each"
        if not each:
            self._checked(found)
        done = 0
        while done < iterations:
            length = self._length(done, iterations, chunk, batch)
            span = (done, done + length, iterations)
            inspected = self.injector.inspects(*span)
            if each and (inspected or done in (0, iterations - 1)):
                stamps.append(self._checked(found, span))
            else:
                if inspected:
                    self._checked(found, span)
                self.injector.before(*span)
                self._refill()
                stamps.append(self._time(length, self.settings.sync, batch))
            runs += [min(batch, length - start) for start in range(0, length, batch)]
            done += length
            if self.comm.rank == 0:
                self.context.report({"type": "progress", "index": self.index, "done": done, "of": iterations})
        if not each:
            self._checked(found)
        # A wrong result anywhere sends all ranks round again, to say how often it happens.
        if self.settings.check and self.shared.largest(found.failed):
            for _ in range(REPEATS):
                self._checked(found)
        after = self._ceiling()
        return {
            "stamps": np.concatenate(stamps).tolist(),
            "runs": runs,
            "ceiling": [*before[1], *after[1]],
            "ceiling_bytes": after[0],
            "sets": len(self._arena.sets),
            "checked": found.checked,
            "failed": found.failed,
            "wrong": None if not found.wrong else _wrong(found.wrong),
        }

    def _length(self, done: int, iterations: int, chunk: int, batch: int) -> int:
        """The next chunk's iterations: the first and the last are alone where they are checked."""
        if self.injector.active:
            return min(batch, iterations - done)
        if self.settings.sync == "none":
            return min(chunk, iterations - done)
        return 1 if done in (0, iterations - 1) else min(chunk, iterations - 1 - done)

    def _time(self, iterations: int, sync: Any, batch: int = 1) -> Stamps:
        """Time on the buffer sets in turn, going on where the last chunk stopped."""
        number = len(self._calls)
        turn = [self._calls[(self._next + offset) % number] for offset in range(number)]
        self._next = (self._next + iterations) % number
        return turn[0].time(iterations, sync, batch, turn[1:])

    def _checked(self, found: _Found, span: tuple[int, int, int] = (0, 0, 0)) -> Stamps:
        """One run on fresh inputs, its result checked (untimed). `span` is the iterations it stands for, and of how
        many; an injection strikes only there."""
        index = self._next
        pair = self._arena.sets[index]
        if pair.recv is not None:
            pair.recv.view(np.uint8)[:] = _POISON
        self._refill_set(index)
        self.injector.before(*span)
        stamps = self._time(1, "each")
        if self.injector.corrupts(*span) and pair.recv is not None and len(pair.recv):
            pair.recv[len(pair.recv) // 2 :][:1].view(np.uint8)[:1] ^= 0xFF
        if self.settings.check:
            shape = self.case.shape(self.comm.rank, self.comm.size)
            pieces = COLLECTIVES[self.case.collective].oracle(shape, self.case.count)
            found.add(self._pattern.check(pair.recv, pieces) if pair.recv is not None else None)
        return stamps

    def _ceiling(self) -> tuple[int, list[float]]:
        """What this rank read and wrote in a repetition of copies, in bytes, and how many seconds the slowest rank
        took, one entry a repetition. All ranks copy within their own buffer sets, about as much each, at the same time.

        numpy's copy stands in for the best that memory can do, so the figure is a lower bound.
        """
        if self.settings.peak is not None:
            return 0, []
        item = DTYPES[self.case.dtype].itemsize
        half = self._arena.layout.set_bytes // 2 // item
        own = 2 * half * item
        largest = int(self.shared.largest(own))
        if largest < LEAST_FOR_CEILING:
            return 0, []
        times = max(COPIED_BYTES, largest) // own if own >= LEAST_COPIED else 0
        # The sets go round from one repetition to the next: with a cold cache, the copies are cold too.
        pairs = cycle(self._halves(half))
        seconds = []
        for _ in range(REPEATS + 1):
            turn = list(islice(pairs, times))
            self.comm.barrier()
            start = time.monotonic_ns()
            for into, source in turn:
                np.copyto(into, source)
            seconds.append((time.monotonic_ns() - start) / 1e9)
        return own * times, [self.shared.largest(second) for second in seconds[1:]]

    def _halves(self, half: int) -> list[tuple[Array, Array]]:
        """The two halves, `half` elements each, of every set."""
        stride = self._arena.layout.stride // DTYPES[self.case.dtype].itemsize
        starts = [index * stride for index in range(len(self._arena.sets))]
        memory = self._arena.memory
        return [(memory[start : start + half], memory[start + half : start + 2 * half]) for start in starts]

    def _implausible(self, report: Mapping[str, Any]) -> bool:
        """All ranks find the same: the figures are of all of them."""
        stamps = np.asarray(report["stamps"])
        own = float(np.median((stamps[:, 1] - stamps[:, 0]) / np.asarray(report["runs"]))) / 1e9
        # Never longer than the median of the longest, so whatever the controller will not believe is found here.
        spent = self.shared.largest(own)
        copied = self.shared.total(report["ceiling_bytes"])
        ceiling = ceiling_of(self.case, self.comm.size, copied, report["ceiling"], self.settings.peak)
        return ceiling is not None and ceiling.time > IMPLAUSIBLE * spent


def _wrong(wrong: Wrong) -> dict[str, Any]:
    return {"count": wrong.count, "index": wrong.index, "expected": wrong.expected, "got": wrong.got}
