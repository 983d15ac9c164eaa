"""DTYPES and OPERATORS: element types, their synonyms, and how operands are folded.

The rules of arithmetic that every engine follows, so that all give the same bits: operands are combined in list
order; float16 and bfloat16 are accumulated in float32 and rounded once per fold; `avg` divides in the fold that
completes an element; integers wrap, and their `avg` truncates toward zero, as in C.
May import: numpy, ml_dtypes, errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from collectives.errors import UsageError, unknown

Array = np.ndarray[Any, np.dtype[Any]]


class Dtypes(Mapping[str, np.dtype[Any]]):
    """Of a table name -> "module:attribute". The module is imported when its type is asked for: ml_dtypes takes longer
    to import (0.7 s as of its version 0.7) than all the rest of a small run."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table
        self._known: dict[str, np.dtype[Any]] = {}

    def __getitem__(self, name: str) -> np.dtype[Any]:
        if name not in self._known:
            module, attribute = self._table[name].split(":")
            self._known[name] = np.dtype(getattr(import_module(module), attribute))
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


DTYPES = Dtypes({
    "int8": "numpy:int8",
    "uint8": "numpy:uint8",
    "int32": "numpy:int32",
    "uint32": "numpy:uint32",
    "int64": "numpy:int64",
    "uint64": "numpy:uint64",
    "float16": "numpy:float16",
    "bfloat16": "ml_dtypes:bfloat16",
    "float32": "numpy:float32",
    "float64": "numpy:float64",
})  # fmt: skip

SYNONYMS: dict[str, str] = {
    "fp32": "float32", "float": "float32", "fp16": "float16", "half": "float16", "bf16": "bfloat16",
    "bfp16": "bfloat16", "fp64": "float64", "double": "float64", "char": "int8", "uchar": "uint8", "int": "int32",
    "uint": "uint32", "long": "int64",
}  # fmt: skip

OPERATORS: dict[str, Callable[..., Any]] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "avg": np.add,
}

_NARROW = 2
"""Bytes of float16 and bfloat16, and of no other type of the table."""
_BLOCK = 1 << 16
"""Elements folded at a time, so that the accumulator stays in the cache and memory stays bounded."""


def dtype_named(name: str) -> tuple[str, np.dtype[Any]]:
    """The table's name and dtype for a name or synonym. Raises UsageError with the nearest known word."""
    canonical = SYNONYMS.get(name.lower(), name.lower())
    if canonical not in DTYPES:
        raise UsageError(unknown("dtype", name, [*DTYPES, *SYNONYMS]))
    return canonical, DTYPES[canonical]


@cache
def name_of(dtype: np.dtype[Any]) -> str:
    """The table's name of a numpy dtype. Raises UsageError."""
    if dtype.name in DTYPES and DTYPES[dtype.name] == dtype:
        return dtype.name
    raise UsageError(f"dtype {dtype} is not supported; use one of {', '.join(DTYPES)}")


def fold(operands: Sequence[Array], into: Array, operator: str, divisor: int = 1) -> None:
    """Combine the operands in list order into `into`, which may be one of them.

    All are one-dimensional, of one length and dtype. With a `divisor` above 1 (operator avg, last fold) the result is
    divided by it.
    """
    dtype = into.dtype
    combine = OPERATORS[operator]
    wide = np.dtype(np.float32) if dtype.itemsize == _NARROW else dtype
    if len(operands) == 2 and wide == dtype and divisor == 1:
        combine(operands[0], operands[1], out=into)
        return
    accumulator = np.empty(min(len(into), _BLOCK), wide)
    for start in range(0, len(into), _BLOCK):
        part = slice(start, start + _BLOCK)
        sums = accumulator[: len(into[part])]
        np.copyto(sums, operands[0][part])
        for operand in operands[1:]:
            combine(sums, operand[part].astype(wide, copy=False), out=sums)
        if divisor > 1:
            _divide(sums, divisor)
        np.copyto(into[part], sums, casting="unsafe")


def _divide(sums: Array, divisor: int) -> None:
    """In place; integers truncate toward zero. The divisor need not fit the dtype: 200 ranks may average int8."""
    if sums.dtype.kind == "f":
        np.divide(sums, sums.dtype.type(divisor), out=sums)
    elif sums.dtype.kind == "u":
        np.copyto(sums, sums.astype(np.uint64) // np.uint64(divisor), casting="unsafe")
    else:
        wide = sums.astype(np.int64)
        np.copyto(sums, (wide - np.fmod(wide, divisor)) // divisor, casting="unsafe")
