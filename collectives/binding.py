"""What a call is bound to: the shape that the buffers make, and whether they are what the collective wants.

Every backend checks its callers' buffers with it, so that all refuse alike. May import: numpy, ops, dtypes, errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectives.dtypes import OPERATORS, Array
from collectives.errors import UsageError, unknown
from collectives.ops import COLLECTIVES, Collective
from collectives.schedule import Shape


@dataclass(frozen=True, slots=True)
class Binding:
    """A call as its buffers make it. `count` is the elements per block, 0 where blocks differ in length."""

    row: Collective
    shape: Shape
    dtype: np.dtype[np.generic]
    count: int

    @property
    def nbytes(self) -> int:
        """The larger of the buffers, which is what algorithms are chosen by."""
        return max(self.shape.send.count, self.shape.recv.count) * self.dtype.itemsize

    @property
    def footprint(self) -> int:
        """Bytes that all ranks together read or write at the least. The same on all ranks, but for uneven blocks."""
        ranks = self.shape.size
        size = self.count * self.row.blocks(ranks) * self.dtype.itemsize or self.nbytes
        return round(self.row.footprint(ranks, in_place=self.shape.in_place) * size)


def resolve(
    collective: str,
    rank: int,
    size: int,
    send: Array | None,
    recv: Array | None,
    operator: str = "sum",
    root: int = 0,
    send_counts: Sequence[int] | None = None,
    recv_counts: Sequence[int] | None = None,
    groups: Sequence[Sequence[int]] = (),
) -> Binding:
    """Check what `Communicator.bind` was given. Raises UsageError."""
    if collective not in COLLECTIVES:
        raise UsageError(unknown("collective", collective, COLLECTIVES))
    if operator not in OPERATORS:
        raise UsageError(unknown("operator", operator, OPERATORS))
    row = COLLECTIVES[collective]
    dtype = common_dtype(send, recv)
    if send_counts is not None or recv_counts is not None:
        shape = _uneven(row, rank, size, send_counts, recv_counts)
        count = 0  # ranks differ
    else:
        count = _count(row, rank, size, root, send, recv)
        shape = row.shape(rank, size, count, root=root)
    shape = replace(shape, groups=tuple(map(tuple, groups)), in_place=_in_place(row, shape, send, recv))
    _check_lengths(row, shape, send, recv)
    return Binding(row, shape, dtype, count)


def _uneven(
    row: Collective, rank: int, size: int, send_counts: Sequence[int] | None, recv_counts: Sequence[int] | None
) -> Shape:
    """The shape of a call whose blocks differ in length. Raises UsageError."""
    if row.name != "alltoallv":
        raise UsageError(f"{row.name} has equal blocks; send_counts and recv_counts are for alltoallv")
    if send_counts is None or recv_counts is None:
        raise UsageError("alltoallv needs both send_counts and recv_counts, or neither")
    for what, counts in (("send_counts", send_counts), ("recv_counts", recv_counts)):
        if len(counts) != size or min(counts) < 0:
            raise UsageError(f"{what} must be {size} numbers from 0 on, one a rank, not {list(counts)}")
    return Shape(rank, size, tuple(send_counts), tuple(recv_counts))


def check_pair(source: int, target: int, size: int) -> None:
    """Whether one rank can send to another. Raises UsageError."""
    if not (0 <= source < size and 0 <= target < size) or source == target:
        raise UsageError(f"rank {source} cannot send to rank {target} in a world of {size}")


def check_group(members: Sequence[int], rank: int, size: int) -> None:
    """Whether these ranks of a world of `size` can be a group for `rank`. Raises UsageError."""
    if len(set(members)) != len(members) or not all(0 <= member < size for member in members):
        raise UsageError(f"{list(members)} are not distinct ranks of a world of {size}")
    if rank not in members:
        raise UsageError(f"rank {rank} is not a member of the group {list(members)}")


def check_writeable(collective: str, array: Array) -> None:
    """Whether something can be received into the array. Raises UsageError."""
    if not array.flags.writeable:
        raise UsageError(f"{collective}: the receive buffer is read-only")


def common_dtype(*arrays: Array | None) -> np.dtype[np.generic]:
    given = [array for array in arrays if array is not None]
    if not given:
        return np.dtype(np.uint8)  # nothing is moved: barrier
    for array in given:
        if not isinstance(array, np.ndarray):
            raise UsageError(f"buffers must be numpy arrays, not {type(array).__name__}")
        if array.ndim != 1 or not array.flags.c_contiguous:
            raise UsageError("buffers must be one-dimensional and contiguous (use array.reshape(-1))")
        if array.dtype != given[0].dtype:
            raise UsageError(f"send and receive buffer differ in dtype: {given[0].dtype} and {array.dtype}")
    return given[0].dtype


def _count(row: Collective, rank: int, size: int, root: int, send: Array | None, recv: Array | None) -> int:
    """The elements per block, from the length of the buffers. Raises UsageError."""
    if not 0 <= root < size:
        raise UsageError(f"root {root} is not a rank of a world of {size}")
    send_blocks, recv_blocks = (len(blocks) for blocks in row.counts(rank, size, 1, root))
    for array, blocks in ((send, send_blocks), (recv, recv_blocks)):
        if array is not None and blocks:
            if len(array) % blocks:
                raise UsageError(f"{row.name}: {len(array)} elements do not divide into {blocks} blocks")
            return len(array) // blocks
    return 0


def _check_lengths(row: Collective, shape: Shape, send: Array | None, recv: Array | None) -> None:
    for what, array, wanted in (("send", send, shape.send.count), ("receive", recv, shape.recv.count)):
        have = 0 if array is None else len(array)
        if wanted and have != wanted:
            raise UsageError(
                f"{row.name}: the {what} buffer of rank {shape.rank} must have {wanted} elements, not {have}"
            )
    if recv is not None and shape.recv.count:
        check_writeable(row.name, recv)


def _in_place(row: Collective, shape: Shape, send: Array | None, recv: Array | None) -> bool:
    """Whether the buffers coincide. Raises UsageError where they overlap in any other way."""
    if send is None or recv is None or not shape.send.count or not shape.recv.count:
        return False
    if not np.may_share_memory(send, recv):
        return False
    alias = row.alias(shape) if row.alias else None
    offset = send.__array_interface__["data"][0] - recv.__array_interface__["data"][0]
    if alias is None or offset != alias * send.itemsize:
        raise UsageError(f"{row.name}: send and receive buffer overlap, but not as in place wants it")
    return True
