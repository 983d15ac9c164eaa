"""The ceiling: how fast the memory of all ranks together reads and writes, at the footprint of the case.

Each rank copies within its own buffer sets, about as much as any other, and all at the same time. numpy's copy stands
in for the best that memory can do, so the figure is a lower bound.
May import: numpy, collectives, arena, agree.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np

from collectives.communicator import Communicator
from collectives.dtypes import Array
from suites.jobs.agree import Shared
from suites.jobs.arena import Arena

LEAST_FOR_CEILING = 64 << 10
"""Where no rank's buffers reach this, latency is measured, not bandwidth: no ceiling."""
LEAST_COPIED = 8 << 10
"""A rank with less (a leaf of gather) does not take part in the ceiling: its copies would measure numpy."""
COPIED_BYTES = 8 << 20
"""What a rank reads and writes, at the least, in a repetition of the ceiling: about 1 ms, so that leaving the barrier
does not matter."""
REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Copied:
    """`nbytes` is what this rank read and wrote in a repetition; `seconds` what the slowest rank took, one entry a
    repetition. Nothing where nothing was copied."""

    nbytes: int = 0
    seconds: tuple[float, ...] = ()


def copy_all(arena: Arena, comm: Communicator, shared: Shared) -> Copied:
    """Copy on all ranks, which must call it together, and time it. Overwrites the buffers."""
    item = arena.memory.itemsize
    half = arena.layout.set_bytes // 2 // item
    own = 2 * half * item
    largest = int(shared.largest(own))
    if largest < LEAST_FOR_CEILING:
        return Copied()
    times = max(COPIED_BYTES, largest) // own if own >= LEAST_COPIED else 0
    # The sets go round from one repetition to the next: with a cold cache, the copies are cold too.
    pairs = cycle(_halves(arena, half))
    seconds = []
    for _ in range(REPETITIONS + 1):
        turn = list(islice(pairs, times))
        comm.barrier()
        start = time.monotonic_ns()
        for into, source in turn:
            np.copyto(into, source)
        seconds.append((time.monotonic_ns() - start) / 1e9)
    return Copied(own * times, tuple(shared.largest(second) for second in seconds[1:]))


def _halves(arena: Arena, half: int) -> list[tuple[Array, Array]]:
    """The two halves, `half` elements each, of every set."""
    stride = arena.layout.stride // arena.memory.itemsize
    starts = [index * stride for index in range(len(arena.sets))]
    return [(arena.memory[start : start + half], arena.memory[start + half : start + 2 * half]) for start in starts]
