"""Engine: what runs plans on one rank. portable.py does it in Python over a Transport, native/ in C over shared memory.

May import: schedule, communicator, dtypes, recorder, transport.base's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from collectives.communicator import Stamps, Sync, Work
from collectives.dtypes import Array
from collectives.recorder import Recorder
from collectives.schedule import Plan
from collectives.transport.base import CallTag

Program = Any
"""A plan bound to buffers, as its channel made it; opaque to everybody else."""


class Channel(Protocol):
    """A group of ranks as its member sees it. Its calls run one after the other, in the order they were begun."""

    def bind(
        self,
        plan: Plan,
        send: Array | None,
        recv: Array | None,
        dtype: np.dtype[Any],
        operator: str,
        call: CallTag,
        footprint: int = 0,
        name: int = 0,
    ) -> Program:
        """Resolve the plan's spans; peers are members of the group. Each run gets the call's next number.

        `footprint` is what all ranks together read or write at the least, in bytes: what does not fit into the caches
        may as well go past them. `name` is what the call is recorded as.
        """

    def run(self, program: Program) -> None:
        """Raises TransportTimeout, MismatchError."""

    def start(self, program: Program) -> Work:
        """Begin, and go on in the background. Raises UsageError where the program is still under way."""

    def time(self, programs: Sequence[Program], iterations: int, sync: Sync, batch: int, barrier: Program) -> Stamps:
        """Run the programs in turn; see communicator.Call.time. A barrier stands before the first run at least."""


class Engine(Protocol):
    """One rank's engine. `rank` and `size` are of the world."""

    name: str
    """For people: which engine, over what."""
    transport: str
    """Inside a host; between hosts it is TCP in any case."""
    rank: int
    size: int
    recorder: Recorder

    @property
    def registered(self) -> int:
        """Bytes handed out and not yet given back, where peers can see them."""

    def allocate(self, count: int, dtype: np.dtype[Any]) -> Array:
        """Memory that this engine moves best. Raises ResourceError."""

    def channel(self, group: int, ranks: Sequence[int], name: int = 0) -> Channel:
        """A group of world ranks, this one among them, recorded under a name. Nothing is sent."""

    def overhead(self, iterations: int) -> Stamps: ...

    def close(self) -> None: ...
