"""MPI's C functions: their addresses in the library that was loaded, and what each collective passes to them.

A call is an address and words, so that the native core can time it without an interpreter between two iterations.
May import: the standard library, numpy, binding, dtypes, errors, native. Not mpi4py: its module is handed in.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectives.binding import Binding
from collectives.dtypes import Array, name_of
from collectives.errors import LibraryError, UsageError

LARGEST = 2**31 - 1
"""Counts are of type int in every MPI; larger ones take functions that came with MPI 4."""
TAG = 0x05D
_TYPES = {
    "int8": "INT8_T", "uint8": "UINT8_T", "int32": "INT32_T", "uint32": "UINT32_T", "int64": "INT64_T",
    "uint64": "UINT64_T", "float32": "FLOAT", "float64": "DOUBLE",
}  # fmt: skip
_OPERATORS = {"sum": "SUM", "prod": "PROD", "min": "MIN", "max": "MAX"}


def lacks(reduces: bool, dtype: str, operator: str) -> str | None:
    """Why MPI has no such call, or None."""
    if reduces and dtype not in _TYPES:
        return f"MPI has no {dtype} that it could reduce; use float32"
    if reduces and operator not in _OPERATORS:
        return f"MPI has no operator {operator}; use sum"
    return None


class _Symbol(ctypes.Structure):
    """What dladdr tells."""

    _fields_ = (
        ("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("address", ctypes.c_void_p),
    )  # fmt: skip


class Library:
    """The MPI library that mpi4py's module has loaded."""

    def __init__(self, mpi: Any) -> None:
        self.mpi = mpi
        # Its dependencies are searched too, so this finds the very functions that mpi4py calls.
        self._handle = ctypes.CDLL(mpi.__file__)
        symbol = _Symbol()
        ctypes.CDLL(None).dladdr(ctypes.c_void_p(self.address("MPI_Allreduce")), ctypes.byref(symbol))
        self.path: str = symbol.file.decode() if symbol.file else "unknown path"
        vendor, numbers = mpi.get_vendor()
        self.vendor: str = vendor
        self.name = f"{vendor} {'.'.join(map(str, numbers))}"
        self.request_bytes: int = mpi._sizeof(mpi.Request)
        self.status_bytes: int = mpi._sizeof(mpi.Status)

    def address(self, name: str) -> int:
        """Of a function. Raises UsageError where the library has none of that name."""
        try:
            return ctypes.cast(self._handle[name], ctypes.c_void_p).value or 0
        except AttributeError:
            raise UsageError(f"{self.name} has no {name}, which a count above {LARGEST} would need") from None

    def function(self, name: str, parameters: int) -> Callable[..., int]:
        """To be called from Python, with words."""
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_size_t] * parameters)
        return prototype(self.address(name))

    def handle(self, thing: Any) -> int:
        """A communicator, type or operator as C has it."""
        return int(self.mpi._handleof(thing))

    def check(self, code: int, what: str) -> None:
        """Raises LibraryError for a return code that is not 0."""
        if code:
            raise LibraryError(f"{what} failed: {self.mpi.Get_error_string(code)} ({self.name}, {self.path})")


@dataclass(frozen=True, slots=True)
class Operands:
    """What a call is made from: addresses, counts per block, handles. `source` is MPI_IN_PLACE where that applies."""

    source: int
    send: int
    recv: int
    in_place: int
    """MPI_IN_PLACE."""
    count: int
    type: int
    operator: int
    root: int
    comm: int
    rank: int
    size: int
    coincide: bool
    blocks: tuple[int, int, int, int] = (0, 0, 0, 0)
    """alltoallv: addresses of send counts and displacements, and of those of receiving."""
    status: int = 0

    @property
    def following(self) -> int:
        return (self.rank + 1) % self.size

    @property
    def preceding(self) -> int:
        return (self.rank - 1) % self.size


def _alltoallv(o: Operands) -> tuple[int, ...]:
    send_counts, send_starts, recv_counts, recv_starts = o.blocks
    return o.send, send_counts, send_starts, o.type, o.recv, recv_counts, recv_starts, o.type, o.comm


BLOCKING: dict[str, tuple[str, Callable[[Operands], tuple[int, ...]]]] = {
    "allreduce": ("Allreduce", lambda o: (o.source, o.recv, o.count, o.type, o.operator, o.comm)),
    "allgather": ("Allgather", lambda o: (o.source, o.count, o.type, o.recv, o.count, o.type, o.comm)),
    # In place, MPI finds the input in what is called the receive buffer, and leaves the result in its first block.
    "reduce_scatter": (
        "Reduce_scatter_block",
        lambda o: (o.source, o.send if o.coincide else o.recv, o.count, o.type, o.operator, o.comm),
    ),
    "alltoall": ("Alltoall", lambda o: (o.send, o.count, o.type, o.recv, o.count, o.type, o.comm)),
    "alltoallv": ("Alltoallv", _alltoallv),
    # MPI has one buffer: what is sent at the root, what is received elsewhere.
    "broadcast": (
        "Bcast", lambda o: (o.send if o.rank == o.root else o.recv, o.count, o.type, o.root, o.comm),
    ),
    "reduce": ("Reduce", lambda o: (o.source, o.recv, o.count, o.type, o.operator, o.root, o.comm)),
    "gather": ("Gather", lambda o: (o.source, o.count, o.type, o.recv, o.count, o.type, o.root, o.comm)),
    "scatter": (
        "Scatter",
        lambda o: (o.send, o.count, o.type, o.in_place if o.coincide else o.recv, o.count, o.type, o.root, o.comm),
    ),
    "sendrecv": (
        "Sendrecv",
        lambda o: (
            o.send, o.count, o.type, o.following, TAG, o.recv, o.count, o.type, o.preceding, TAG, o.comm, o.status,
        ),
    ),
    "barrier": ("Barrier", lambda o: (o.comm,)),
}  # fmt: skip
"""collective -> (MPI's name, its arguments). The non-blocking form has a request after them."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A collective bound to buffers: functions with their arguments, and a copy (to, from, bytes) that MPI needs after
    them to leave the result where it is wanted. `keeps` is what the addresses point into."""

    name: str
    words: tuple[int, ...]
    starts: tuple[tuple[str, tuple[int, ...]], ...]
    """Non-blocking: each takes the address of a request after these words."""
    copy: tuple[int, int, int] | None
    keeps: tuple[Any, ...]


def bind(library: Library, comm: Any, binding: Binding, send: Array | None, recv: Array | None, operator: str) -> Bound:
    """What MPI is called with, for a call on mpi4py's communicator `comm`. Raises UsageError."""
    mpi, row, shape = library.mpi, binding.row, binding.shape
    dtype = name_of(binding.dtype)
    if reason := lacks(row.reduces, dtype, operator):
        raise UsageError(reason)
    most = max((*shape.send_counts, *shape.recv_counts, shape.send.count, shape.recv.count), default=0)
    large = "_c" if most > LARGEST else ""
    counts = [_numbers(each, large) for each in (shape.send_counts, shape.recv_counts)]
    starts = [_numbers(np.cumsum([0, *each])[:-1], large) for each in (shape.send_counts, shape.recv_counts)]
    blocks = [counts[0], starts[0], counts[1], starts[1]]
    status = np.zeros(library.status_bytes, np.uint8)
    in_place = int(mpi.IN_PLACE)
    # What is only moved needs no arithmetic, so numbers of two bytes will do.
    kind = getattr(mpi, _TYPES.get(dtype, "UINT16_T"))
    operands = Operands(
        source=in_place if shape.in_place else _address(send), send=_address(send), recv=_address(recv),
        in_place=in_place, count=binding.count, type=library.handle(kind),
        operator=library.handle(getattr(mpi, _OPERATORS.get(operator, "SUM"))), root=shape.root,
        comm=library.handle(comm), rank=shape.rank, size=shape.size, coincide=shape.in_place,
        blocks=(_address(blocks[0]), _address(blocks[1]), _address(blocks[2]), _address(blocks[3])),
        status=_address(status),
    )  # fmt: skip
    short, arguments = BLOCKING[row.name]
    words = arguments(operands)
    return Bound(
        f"MPI_{short}{large}", words, _starts(row.name, operands, large), _copy(row.name, operands, binding),
        (send, recv, *blocks, status),
    )  # fmt: skip


def _starts(collective: str, o: Operands, large: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    if collective == "sendrecv":  # its non-blocking form came with MPI 4
        return (
            (f"MPI_Irecv{large}", (o.recv, o.count, o.type, o.preceding, TAG, o.comm)),
            (f"MPI_Isend{large}", (o.send, o.count, o.type, o.following, TAG, o.comm)),
        )
    short, arguments = BLOCKING[collective]
    return ((f"MPI_I{short.lower()}{large}", arguments(o)),)


def _copy(collective: str, o: Operands, binding: Binding) -> tuple[int, int, int] | None:
    """Where MPI's idea of in place, or of the root's buffer, is not NCCL's, which is this project's."""
    length = binding.shape.recv.count * binding.dtype.itemsize
    moved = {
        "reduce_scatter": o.coincide and o.recv != o.send,
        "broadcast": o.rank == o.root and not o.coincide,
    }.get(collective, False)
    return (o.recv, o.send, length) if moved and length else None


def _numbers(values: Any, large: str) -> Array:
    return np.asarray(values, np.int64 if large else np.intc)


def _address(array: Array | None) -> int:
    if array is None:
        return 0
    address: int = array.__array_interface__["data"][0]
    return address
