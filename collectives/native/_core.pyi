"""The compiled module, for type checkers. What its functions mean is told where they are written, in native/src."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import Buffer

def fold(
    dtype: int,
    operator: int,
    operands: list[Buffer],
    outputs: list[Buffer],
    divisor: int,
    streaming: bool,
    /,
) -> None:
    """Combine the operands element by element, in list order, and write the result to every output, in one pass.

    The rules and the bits are those of `collectives.dtypes.fold`; where the result is NaN, only that it is one. `dtype`
    and `operator` are indices of DTYPES and OPERATORS. All buffers are contiguous bytes of one length; an output may be
    one of the operands, exactly. A `divisor` above 1 (operator avg, last fold) divides the result. With `streaming`,
    results bypass the caches. Other threads may run meanwhile.
    Raises ValueError: unknown index, no operand or output, unequal lengths, no whole elements, read-only or
    overlapping output, divisor outside 1 to 2**64 - 1. TypeError: not a buffer.
    """

def copy(to: Buffer, source: Buffer, streaming: bool, /) -> None:
    """Copy the bytes of `source` to `to`, past the caches with `streaming`. Other threads may run meanwhile.

    Raises ValueError: unequal lengths, read-only `to`, or overlap. TypeError: not a buffer.
    """

def features() -> str:
    """The instruction set in use: "avx512", "avx2" or "baseline"."""

def choose(features: str, /) -> bool:
    """Use the named instruction set from now on, in all threads; False, and no change, if this CPU lacks it."""

GROUPS: int
"""Groups that a rank can take part in."""
SLOTS: int
"""Pieces of messages that a sender may be ahead."""
REGION: int
"""Bytes at the beginning of a region that belong to the core."""

class World:
    """The regions of all ranks of a host, by their addresses here, how patiently its ranks wait, and its last cache.

    Those of ranks of other hosts are 0. A program whose memory cannot stay in `cache` bytes from one run to the next
    stores past the caches. Calls leave their records in `ring`, where there is one (see collectives/ring.py).
    """

    def __init__(
        self, rank: int, regions: list[int], length: int, spins: int, yields: int, cache: int, ring: Buffer | None
    ) -> None: ...

class Channel:
    """A group: its inbox lies at `place` in this rank's region. Raises OSError when there are too many groups."""

    def __init__(
        self, world: World, key: int, members: list[int], me: int, place: int, eager: int, direct: int, name: int
    ) -> None: ...
    def connect(self, member: int, descriptor: int) -> None:
        """Reach a member on another host by a connected, non-blocking socket, which is the channel's from now on.

        Not while a program runs. Raises ValueError for a member of this host, or one that is connected.
        """
    def close(self) -> None: ...

class Program:
    """A plan (see compile.py) bound to send, receive and scratch buffer. Raises ValueError."""

    streaming: bool
    """Whether its latest run stored past the caches."""

    def __init__(
        self,
        channel: Channel,
        words: bytes,
        buffers: tuple[Any, Any, Any],
        dtype: int,
        operator: int,
        divisor: int,
        signature: int,
        count: int,
        footprint: int,
        name: int,
    ) -> None: ...
    def run(self, sequence: int, timeout: float, frame: int) -> tuple[Any, ...] | None:
        """Run as the call of this number. None, or how it ended otherwise; `timeout` is in seconds without progress."""

def time(
    programs: Sequence[Program],
    barrier: Program | None,
    iterations: int,
    batch: int,
    stamps: Any,
    sequence: int,
    timeout: float,
    frame: int,
) -> tuple[int, tuple[Any, ...] | None]:
    """The timed loop: the number of the next call, and how it ended. `stamps` takes (samples, 2) int64, in ns."""

def traffic(
    memory: Buffer, starts: list[int], part: int, reads: int, writes: int, apart: int, times: int, streaming: bool, /
) -> None:
    """Read `reads` parts in a row and write `writes` parts; `times` times, at the starts in turn.

    The first written is `apart` parts after the first read: `reads` or more, or 0 to fold several over what was read.
    Starts and parts are in bytes, multiples of 8. Raises ValueError.
    """

def overhead(iterations: int, stamps: Any) -> None:
    """The timed loop around nothing."""

def inbox_length(members: int, eager: int) -> int: ...
def ticks() -> int | None:
    """The counter that records are stamped with, which runs evenly on all cores; None where this CPU has none."""

def time_foreign(
    function: int,
    calls: list[tuple[int, ...]],
    iterations: int,
    batch: int,
    before: tuple[int, tuple[int, ...]] | None,
    stamps: Any,
    record: tuple[Any, int, list[tuple[int, int, int, int, int]], tuple[int, int, int, int, int]] | None = None,
    /,
) -> int:
    """Call the C function at an address with the arguments of `calls` in turn, `iterations` times in all.

    `batch` iterations are a sample, an incomplete batch too; `before` (address and arguments) is called before each.
    `stamps`, a writable int64 buffer of shape (samples, 2), gets entry and exit of each sample in nanoseconds of
    CLOCK_MONOTONIC. Arguments are at most 12 integers or addresses. The interpreter's lock is released meanwhile.
    `record` has each call recorded: the ring, the number of the first, what those of `calls` are recorded as, in turn,
    and what `before` is.
    Returns the first return code that is not 0, at which it stops, or 0. Raises ValueError, TypeError, BufferError.
    """

def foreign_functions() -> tuple[int, int]:
    """Addresses of a function that does nothing, and of one that calls another and then copies.

    The latter's arguments: address and 6 arguments of the other, then where to, where from, and how many bytes.
    """
