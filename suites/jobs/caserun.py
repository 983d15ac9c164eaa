"""One case on one rank: its buffers, its bound calls, its iterations, its checks, and what it reports.

Who runs when is decided in rounds.py; the timing loop itself belongs to the backend's Call.
May import: numpy, collectives, case, measure, pattern, report's constant, and from this package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from collectives.communicator import Call, Communicator, Stamps, Sync
from collectives.ops import COLLECTIVES
from suites.case import Case
from suites.jobs.agree import Shared
from suites.jobs.arena import Arena, open_arena
from suites.jobs.ceiling import Moved, move_all
from suites.jobs.inject import Injector
from suites.jobs.neighbour import exchange_all
from suites.jobs.settings import BATCH_SECONDS, CHUNK_SECONDS, REPEATS, Settings
from suites.measure import ceiling_of
from suites.pattern import Pattern, Wrong
from suites.report import IMPLAUSIBLE

_POISON = 0xFF
"""Fills a receive buffer before a checked iteration, so that an old result cannot pass for a new one."""


@dataclass(slots=True)
class _Found:
    """What a measurement has gathered on this rank."""

    before: Moved
    stamps: list[Stamps] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    passes: list[int] = field(default_factory=list)
    """Samples of each pass."""
    wrong: Wrong | None = None
    checked: int = 0
    failed: int = 0

    def judge(self, wrong: Wrong | None) -> None:
        self.checked += 1
        self.failed += wrong is not None
        self.wrong = self.wrong or wrong


@dataclass(slots=True)
class CaseRun:
    """Use: prepare, warm_up, settle_on; then begin, run_pass for each pass, end and report, which may be repeated."""

    index: int
    case: Case
    comm: Communicator
    shared: Shared
    settings: Settings
    injector: Injector
    iterations: int = 0
    batch: int = 1
    _chunk: int = 1
    _brief: bool = True
    """An iteration is so short that a cold start would show in it."""
    _estimate: float = 0.0
    _arena: Arena = field(init=False)
    _calls: list[Call] = field(init=False)
    _pattern: Pattern = field(init=False)
    _found: _Found = field(init=False)
    _next: int = 0
    """The buffer set whose turn it is."""

    def prepare(self) -> None:
        """Take memory and bind the calls."""
        case, row = self.case, COLLECTIVES[self.case.collective]
        shape = case.shape(self.comm.rank, self.comm.size)
        self._arena = open_arena(case, self.comm, self.settings.beyond, self.settings.buffers)
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

    def warm_up(self) -> None:
        """What it finds out is how long this rank takes for an iteration, as it saw most of them."""
        stamps = self._time(max(self.settings.warmup, 1), self.settings.sync)
        self._estimate = max(float(np.median(stamps[:, 1] - stamps[:, 0])) / 1e9, 1e-7)

    def settle_on(self, seconds: float | None) -> None:
        """Agree on iterations, chunk and batch. Only unasked loops are cut, to what `seconds` allow."""
        settings, estimate = self.settings, self._estimate
        iterations = settings.loop
        if seconds is not None and not settings.loop_asked:
            iterations = min(iterations, max(int(seconds / estimate), 1))
        batch = 1 if settings.sync == "each" else min(max(int(np.ceil(BATCH_SECONDS / estimate)), 1), iterations)
        most = int(CHUNK_SECONDS / estimate)
        brief = int(most > 0)
        if self._arena.layout.spread:
            most = min(most, len(self._arena.sets))  # a set used twice would be warm the second time
        chunk = max(most // batch * batch, batch)
        self.iterations, self._chunk, self.batch, brief = self.shared.agree(iterations, chunk, batch, brief)
        self._brief = bool(brief)

    @property
    def batches(self) -> int:
        return -(-self.iterations // self.batch)

    def begin(self) -> None:
        """The ceiling, fresh inputs, and a checked run where those of the loop are not looked at one by one."""
        self._found = _Found(self._ceiling())
        self._refill()
        if self.settings.sync == "none":
            self._checked()

    def resume(self) -> None:
        """One untimed run after somebody else had the machine: caches, cores and wires are this backend's again."""
        if self._brief:
            self._time(1, self.settings.sync)

    def run_pass(self, number: int, passes: int) -> Iterator[int]:
        """Time the iterations of one pass of `passes`; after each chunk, how many are done in all."""
        found, before = self._found, len(self._found.runs)
        done, stop = (min(self.batches * turn // passes * self.batch, self.iterations) for turn in (number, number + 1))
        while done < stop:
            length = self._length(done, stop)
            span = (done, done + length, self.iterations)
            inspected = self.injector.inspects(*span)
            each = self.settings.sync == "each"
            if each and (inspected or done in (0, self.iterations - 1)):
                found.stamps.append(self._checked(span))
            else:
                if inspected:
                    self._checked(span)
                self.injector.before(*span)
                self._refill()
                found.stamps.append(self._time(length, self.settings.sync, self.batch))
            found.runs += [min(self.batch, length - start) for start in range(0, length, self.batch)]
            done += length
            yield done
        found.passes.append(len(found.runs) - before)

    def end(self) -> None:
        """The last check, and where a result was wrong, anywhere, some more, to say how often it happens."""
        if self.settings.sync == "none":
            self._checked()
        if self.settings.check and self.shared.largest(self._found.failed):
            for _ in range(REPEATS):
                self._checked()

    def report(self) -> dict[str, Any]:
        """What was found since `begin`. The ceiling is measured once more."""
        found, after = self._found, self._ceiling()
        return {
            "type": "case",
            "index": self.index,
            "batch": self.batch,
            "asked": self.settings.loop,
            "stamps": np.concatenate(found.stamps).tolist(),
            "runs": found.runs,
            "passes": found.passes,
            "ceiling": [*found.before.seconds, *after.seconds],
            "ceiling_bytes": after.nbytes,
            "ceiling_source": after.source,
            "sets": len(self._arena.sets),
            "checked": found.checked,
            "failed": found.failed,
            "wrong": None if not found.wrong else _wrong(found.wrong),
        }

    def implausible(self, report: Mapping[str, Any]) -> bool:
        """All ranks find the same: the figures are of all of them."""
        stamps = np.asarray(report["stamps"])
        own = float(np.median((stamps[:, 1] - stamps[:, 0]) / np.asarray(report["runs"]))) / 1e9
        # Never longer than the median of the longest, so whatever the controller will not believe is found here.
        spent = self.shared.largest(own)
        copied = self.shared.total(report["ceiling_bytes"])
        seconds, source, peak = report["ceiling"], report["ceiling_source"], self.settings.peak
        ceiling = ceiling_of(self.case, self.comm.size, copied, seconds, source, peak, len(self.settings.counts))
        return ceiling is not None and ceiling.time > IMPLAUSIBLE * spent

    def _refill(self) -> None:
        """Fresh inputs everywhere, and out of the caches where that is asked for."""
        for index in range(len(self._arena.sets)):
            self._refill_set(index)
        self._arena.push_out()

    def _refill_set(self, index: int) -> None:
        send = self._arena.sets[index].send
        if send is not None:
            self._pattern.fill(send, self.comm.rank)

    def _length(self, done: int, stop: int) -> int:
        """The next chunk's iterations: the first and the last are alone where they are checked."""
        if self.injector.active:
            return min(self.batch, stop - done)
        if self.settings.sync == "none":
            return min(self._chunk, stop - done)
        last = self.iterations - 1
        return 1 if done in (0, last) else min(self._chunk, min(stop, last) - done)

    def _time(self, iterations: int, sync: Sync, batch: int = 1) -> Stamps:
        """Time on the buffer sets in turn, going on where the last chunk stopped."""
        number = len(self._calls)
        turn = [self._calls[(self._next + offset) % number] for offset in range(number)]
        self._next = (self._next + iterations) % number
        return turn[0].time(iterations, sync, batch, turn[1:])

    def _checked(self, span: tuple[int, int, int] = (0, 0, 0)) -> Stamps:
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
            self._found.judge(self._pattern.check(pair.recv, pieces) if pair.recv is not None else None)
        return stamps

    def _ceiling(self) -> Moved:
        if self.settings.peak is not None:
            return Moved()
        if len(self.settings.counts) > 1:
            return exchange_all(self.case, self.settings.counts, self.comm, self.shared)
        return move_all(self.case, self._arena, self.comm, self.shared)


def _wrong(wrong: Wrong) -> dict[str, Any]:
    return {"count": wrong.count, "index": wrong.index, "expected": wrong.expected, "got": wrong.got}
