"""The buffers of a case on one rank: one set, or enough sets to go round beyond the last-level cache.

May import: numpy, collectives, case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from collectives.communicator import Communicator
from collectives.dtypes import DTYPES, Array
from collectives.ops import COLLECTIVES
from collectives.schedule import Shape
from suites.case import Case

_ALIGN = 4096
"""Sets start on pages, so that no two share a cache line."""
MOST_SETS = 64


@dataclass(frozen=True, slots=True)
class Layout:
    """How the sets of a case lie in memory, in bytes; the controller counts memory with it before any is taken."""

    set_bytes: int
    sets: int
    stride: int
    scratch: int
    spread: bool = False
    """Sets lie apart, and what is between them is written to push them out of the caches."""

    @property
    def arena(self) -> int:
        return self.sets * self.stride

    @property
    def total(self) -> int:
        return self.arena + self.scratch


def layout(case: Case, rank: int, ranks: int, beyond: int, scratch_count: int) -> Layout:
    """`beyond` is what the rotation must exceed on this rank: 0 for a warm cache, its share of the last-level cache
    (twice) for a cold one. Each set has scratch of its own."""
    shape = case.shape(rank, ranks)
    item = DTYPES[case.dtype].itemsize
    send, recv = shape.send.count * item, shape.recv.count * item
    apart = _padded(send) + recv if recv else send
    set_bytes = max(send, recv) if overlaps(case, shape) else apart
    stride = max(_padded(set_bytes), _ALIGN)
    sets = min(max(-(-beyond // stride), 1), MOST_SETS)
    spread = sets * stride < beyond
    if spread:
        # So many small sets fit in the caches: spread out, writing all that is between them pushes them out.
        stride = _padded(-(-beyond // sets))
    return Layout(set_bytes, sets, stride, sets * scratch_count * item, spread)


def overlaps(case: Case, shape: Shape) -> bool:
    """Whether this rank's buffers coincide."""
    row = COLLECTIVES[case.collective]
    return case.in_place and row.alias is not None and row.alias(shape) is not None


@dataclass(frozen=True, slots=True)
class BufferSet:
    """One set; None where the rank has no such buffer."""

    send: Array | None
    recv: Array | None


class Arena:
    """Allocated sets. Everything is written once, so that pages exist before anything is timed."""

    def __init__(self, case: Case, shape: Shape, plan: Layout, allocate: Callable[[int, str], Array]) -> None:
        self.layout = plan
        item = DTYPES[case.dtype].itemsize
        whole = allocate((plan.arena + _ALIGN) // item, case.dtype)
        self.memory = whole[-whole.__array_interface__["data"][0] % _ALIGN // item :]
        self.memory[:] = 0
        self.sets = [
            self._cut(case, shape, self.memory[index * plan.stride // item :], item) for index in range(plan.sets)
        ]

    def push_out(self) -> None:
        """Where all sets together would fit in the caches, push them out by writing what lies between them."""
        if self.layout.spread:
            item, used = self.memory.itemsize, _padded(self.layout.set_bytes)
            for start in range(0, self.layout.arena, self.layout.stride):
                self.memory[(start + used) // item : (start + self.layout.stride) // item] = 0

    @staticmethod
    def _cut(case: Case, shape: Shape, memory: Array, item: int) -> BufferSet:
        send_count, recv_count = shape.send.count, shape.recv.count
        row = COLLECTIVES[case.collective]
        send_start, recv_start = 0, _padded(send_count * item) // item
        alias = row.alias(shape) if case.in_place and row.alias else None
        if alias is not None:
            send_start, recv_start = max(alias, 0), max(-alias, 0)
        send = memory[send_start : send_start + send_count] if shape.send_counts else None
        recv = memory[recv_start : recv_start + recv_count] if shape.recv_counts else None
        return BufferSet(send, recv)


def open_arena(case: Case, comm: Communicator, beyond: int, buffers: str) -> Arena:
    """`buffers` is "registered" for memory that the backend hands out, or "private" for memory it knows nothing of;
    both lie on the same borders."""
    shape = case.shape(comm.rank, comm.size)
    allocate = {"registered": comm.allocate, "private": _private}[buffers]
    return Arena(case, shape, layout(case, comm.rank, comm.size, beyond, 0), allocate)


def _private(count: int, dtype: str) -> Array:
    return np.empty(count, DTYPES[dtype])


def _padded(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN
