"""The compiled module's functions, for type checkers; what they mean is told in native/src."""

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
