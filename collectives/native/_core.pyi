"""The compiled module's functions, for type checkers; what they mean is told in native/src."""

from typing import Any

# foreign.c
def time_foreign(
    function: int,
    calls: list[tuple[int, ...]],
    iterations: int,
    batch: int,
    before: tuple[int, tuple[int, ...]] | None,
    stamps: Any,
    /,
) -> int:
    """Call the C function at an address with the arguments of `calls` in turn, `iterations` times in all.

    `batch` iterations are a sample, an incomplete batch too; `before` (address and arguments) is called before each.
    `stamps`, a writable int64 buffer of shape (samples, 2), gets entry and exit of each sample in nanoseconds of
    CLOCK_MONOTONIC. Arguments are at most 12 integers or addresses. The interpreter's lock is released meanwhile.
    Returns the first return code that is not 0, at which it stops, or 0. Raises ValueError, TypeError, BufferError.
    """

def foreign_functions() -> tuple[int, int]:
    """Addresses of a function that does nothing, and of one that calls another and then copies.

    The latter's arguments: address and 6 arguments of the other, then where to, where from, and how many bytes.
    """
