"""The ceiling: how fast the memory of all ranks together reads and writes, at the footprint of the case.

Every rank reads and writes within its own buffer sets, in the collective's own mix, and all at the same time. The
native core's loops do it, with plain and with streaming stores, from and to few places or twice as many, of which the
best counts. Without the core numpy's copy stands in for them, and then the figure is a lower bound.
May import: numpy, collectives, arena, agree.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from collectives import native
from collectives.communicator import Communicator
from collectives.ops import COLLECTIVES
from suites.case import Case
from suites.jobs.agree import Shared
from suites.jobs.arena import Arena

LEAST_FOR_CEILING = 64 << 10
"""Where no rank's buffers reach this, latency is measured, not bandwidth: no ceiling."""
LEAST_MOVED = 8 << 10
"""A rank with less (a leaf of gather) does not take part in the ceiling: its moves would measure the calls."""
MOVED_BYTES = 32 << 20
"""What a rank reads and writes, at the least, in a repetition of the ceiling: some hundred microseconds in caches, so
that the barriers around it do not matter."""
REPETITIONS = 2
"""Of each way, after one that is not counted."""
BRIEF_REPETITIONS = 8
"""Where one takes a millisecond or so: then a disturbance would show in all of a few."""
_WORD = 16
"""Bytes that a part is a multiple of, so that half of it is whole words."""


@dataclass(frozen=True, slots=True)
class Round:
    """What a rank moves in a repetition: `times` times, at the `starts` in turn, `reads` parts of `part` bytes are read
    and `writes` parts written, of which the first lies `apart` parts after the first that is read (0: over it)."""

    part: int
    reads: int
    writes: int
    apart: int
    times: int

    def by_parts_of(self, divisor: int) -> Round:
        """The same bytes, in smaller parts and so in more places at once."""
        return Round(
            self.part // divisor, self.reads * divisor, self.writes * divisor, self.apart * divisor, self.times
        )


Mover = Callable[[np.ndarray, list[int], Round], None]
"""(memory in bytes, starts in it, what to move)."""


@dataclass(frozen=True, slots=True)
class Moved:
    """`nbytes` is what this rank read and wrote in a repetition; `seconds` what the slowest rank took, one entry a
    repetition; `source` how. Nothing where nothing was moved."""

    nbytes: int = 0
    seconds: tuple[float, ...] = ()
    source: str = ""


def move_all(case: Case, arena: Arena, comm: Communicator, shared: Shared) -> Moved:
    """Move on all ranks, which must call it together, and time it. Overwrites the buffers."""
    row = COLLECTIVES[case.collective]
    reads, writes = mix(*row.least_traffic(comm.size, in_place=case.in_place))
    apart = reads
    if row.folds_over(in_place=case.in_place):
        apart = 0  # a single operand written over itself would be nothing to do
        if reads == 1:
            reads, writes = 2, 2 * writes
    source, movers = ways()
    if not native.core():
        reads, writes, apart = 1, 1, 1
    parts = max(reads, apart + writes)
    # The ranks of a rooted collective hold unequal buffers and share the moving. So none goes through more memory than
    # its share: caches would serve it worse than they do in the collective.
    share = row.footprint(comm.size, in_place=case.in_place) * case.bytes_moved(comm.size) / comm.size
    part = int(min(arena.layout.set_bytes, share)) // parts // _WORD * _WORD
    own = (reads + writes) * part
    if shared.largest(arena.layout.set_bytes) < LEAST_FOR_CEILING:
        return Moved()
    largest = int(shared.largest(own))
    times = max(MOVED_BYTES, largest) // own if own >= LEAST_MOVED else 0
    memory = arena.memory.view(np.uint8)
    starts = [index * arena.layout.stride for index in range(len(arena.sets))]
    repetitions = BRIEF_REPETITIONS if largest <= MOVED_BYTES else REPETITIONS
    seconds = []
    # One way after the other: streaming stores leave caches behind in which plain ones are slow.
    for mover in movers:
        for number in range(1 + repetitions):
            comm.barrier()
            begin = time.monotonic_ns()
            if times:
                mover(memory, starts, Round(part, reads, writes, apart, times))
            # Until all are done: where ranks outnumber cores they move in turn, each alone and so much faster.
            comm.barrier()
            spent = (time.monotonic_ns() - begin) / 1e9
            # The sets go round from one repetition to the next: with a cold cache, this is cold too.
            turn = times % len(starts)
            starts = starts[turn:] + starts[:turn]
            if number:
                seconds.append(spent)
    return Moved(own * times, tuple(shared.largest(second) for second in seconds), source)


def mix(read: float, written: float) -> tuple[int, int]:
    """The least whole numbers of parts read and written in this relation; something is read and written at least."""
    parts = [Fraction(share).limit_denominator(1 << 16) for share in (read, written)]
    common = math.lcm(*(part.denominator for part in parts))
    reads, writes = (int(part * common) for part in parts)
    divisor = math.gcd(reads, writes) or 1
    return max(reads // divisor, 1), max(writes // divisor, 1)


def ways() -> tuple[str, list[Mover]]:
    """What moves memory here, in words for the record, and how."""
    core = native.core()
    if core is None:
        return "numpy copy by all ranks, a lower bound", [_copy_by_numpy]

    def mover(streaming: bool, places: int) -> Mover:
        def move(memory: np.ndarray, starts: list[int], whole: Round) -> None:
            do = whole.by_parts_of(places)
            core.traffic(memory, starts, do.part, do.reads, do.writes, do.apart, do.times, streaming)

        return move

    ways = [mover(streaming, places) for places in (1, 2) for streaming in (False, True)]
    return "memory traffic of all ranks", ways


def _copy_by_numpy(memory: np.ndarray, starts: list[int], do: Round) -> None:
    for number in range(do.times):
        start = starts[number % len(starts)]
        np.copyto(memory[start + do.part : start + 2 * do.part], memory[start : start + do.part])
