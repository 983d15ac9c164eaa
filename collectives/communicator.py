"""Communicator, Call and Work: what a backend offers, and the timed loop that all of them share.

A backend owns its buffers and its clock, so nothing above it asks what kind of device it runs on.
May import: numpy, errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from collectives.dtypes import Array

Sync = Literal["each", "none"]
Stamps = np.ndarray[Any, np.dtype[np.int64]]
"""Shape (samples, 2): entry and exit of each sample in nanoseconds of this host's monotonic clock."""


class Work(Protocol):
    """A call under way in the background."""

    @property
    def done(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool:
        """Until it is done (True) or `timeout` seconds have passed (False). Raises what went wrong in it."""


class Call(Protocol):
    """A collective bound to buffers, as MPI's persistent ones: all looking up is done, running only moves data."""

    algorithm: str
    why: str
    """Why this algorithm was chosen."""

    def run(self) -> None:
        """Run to the end. Raises TransportTimeout, MismatchError."""

    def start(self) -> Work:
        """Begin, and go on in the background. A call must not be started again before it is done."""

    def time(self, iterations: int, sync: Sync, batch: int = 1, rotation: Sequence[Call] = ()) -> Stamps:
        """Run `iterations` times and return the stamps.

        With sync "each" a barrier stands before every run and every run is a sample; with "none" runs are back to back
        and `batch` of them are a sample. Runs go round this call and the calls of `rotation` in turn.
        """


class Communicator(Protocol):
    """Ranks that call collectives together. Peers and roots are ranks of this communicator."""

    rank: int
    size: int
    library: str
    """What moves the data, as it was really loaded: name, version and, for a foreign library, its path."""
    transport: str
    """The way between ranks, in a word, as the record gives it."""

    @property
    def registered(self) -> int:
        """Bytes of this rank's memory that peers on its host can see, at the moment."""

    def allocate(self, count: int, dtype: str) -> Array:
        """A buffer that this backend moves best."""

    def bind(
        self,
        collective: str,
        send: Array | None,
        recv: Array | None,
        *,
        operator: str = "sum",
        root: int = 0,
        algorithm: str = "auto",
        send_counts: Sequence[int] | None = None,
        recv_counts: Sequence[int] | None = None,
        groups: Sequence[Sequence[int]] = (),
    ) -> Call:
        """Bind a collective to one-dimensional buffers; None where this rank has none.

        In place is where the buffers coincide as NCCL wants it. Counts are for alltoallv. Raises UsageError.
        """

    def send(self, array: Array, peer: int) -> None: ...

    def recv(self, array: Array, peer: int) -> None: ...

    def group(self, ranks: Sequence[int]) -> Communicator:
        """A communicator of some of the ranks, in this order. Its members must call it alike; nothing is sent."""

    def barrier(self) -> None: ...

    def overhead(self, iterations: int) -> Stamps:
        """The timed loop around nothing."""

    def close(self) -> None: ...


def nothing() -> None:
    """Stands where a timed loop has nothing to do."""


def timed(
    runs: Sequence[Callable[[], None]],
    iterations: int,
    batch: int,
    before: Callable[[], None],
    finish: Callable[[], None] = nothing,
) -> Stamps:
    """The timed loop: `before` stands before every sample, `batch` runs make one; an incomplete batch is a sample too.

    `finish` ends a sample, and belongs to it: where runs only enqueue work on a device, it waits for the device.
    The same loop serves every backend whose calls start in Python.
    """
    clock, number = time.monotonic_ns, len(runs)
    stamps = np.empty((-(-iterations // batch), 2), np.int64)
    done = 0
    for sample in range(len(stamps)):
        stop = min(done + batch, iterations)
        before()
        entry = clock()
        while done < stop:
            runs[done % number]()
            done += 1
        finish()
        stamps[sample] = entry, clock()
    return stamps
