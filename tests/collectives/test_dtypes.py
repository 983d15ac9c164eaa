"""Folding against a reference that knows nothing of numpy: Python's integers and floats, rounded through `struct`."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from collectives.dtypes import DTYPES, OPERATORS, SYNONYMS, Array, dtype_named, fold, name_of
from collectives.errors import UsageError

ORDINARY: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "min": min,
    "max": max,
    "avg": lambda a, b: a + b,
}
BLOCK = 1 << 16
"""What `fold` works on at a time; lengths around it are tried."""


def to_float32(value: float) -> float:
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


def to_float16(value: float) -> float:
    rounded: float = struct.unpack("e", struct.pack("e", value))[0]
    return rounded


def to_bfloat16(value: float) -> float:
    """The upper half of a float32, rounded to even."""
    (bits,) = struct.unpack("I", struct.pack("f", value))
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
    rounded: float = struct.unpack("f", struct.pack("I", bits))[0]
    return rounded


def to_integer(bits: int, signed: bool) -> Callable[[int], int]:
    def wrap(value: int) -> int:
        value &= (1 << bits) - 1
        return value - (1 << bits) if signed and value >> (bits - 1) else value

    return wrap


INTEGERS = {
    f"{'' if signed else 'u'}int{bits}": to_integer(bits, signed) for bits in (8, 32, 64) for signed in (True, False)
}

ROUND: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    # float64 holds the sum and the product of two float32 well enough that rounding twice is rounding once.
    "float16": (to_float32, to_float16),
    "bfloat16": (to_float32, to_bfloat16),
    "float32": (to_float32, to_float32),
    "float64": (float, float),
    **{name: (wrap, wrap) for name, wrap in INTEGERS.items()},
}
"""dtype -> (rounding of every step, rounding of the result)."""


def reference(dtype: str, operator: str, operands: Sequence[Any], divisor: int) -> Any:
    """One element."""
    step, end = ROUND[dtype]
    value = operands[0]
    for operand in operands[1:]:
        value = step(ORDINARY[operator](value, operand))
    if divisor > 1:
        value = (
            int(abs(value) // divisor) * (1 if value >= 0 else -1) if isinstance(value, int) else step(value / divisor)
        )
    return end(value)


def random_operands(dtype: str, number: int, count: int) -> list[Array]:
    generator = np.random.default_rng(number * 1000 + count)
    if DTYPES[dtype].kind in "iu":
        low, high = np.iinfo(DTYPES[dtype]).min, np.iinfo(DTYPES[dtype]).max
        return [generator.integers(low, high, count, DTYPES[dtype], endpoint=True) for _ in range(number)]
    return [generator.normal(0, 3, count).astype(DTYPES[dtype]) for _ in range(number)]


def numbers(values: Array) -> list[Any]:
    return list(values.tolist() if values.dtype.kind in "iu" else values.astype(np.float64).tolist())


@pytest.mark.parametrize("number", [1, 2, 3, 5])
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_fold_is_the_reference(dtype: str, operator: str, number: int) -> None:
    operands = random_operands(dtype, number, 50)
    divisor = number if operator == "avg" else 1
    into = np.zeros(50, DTYPES[dtype])
    fold(operands, into, operator, divisor)
    columns = zip(*(numbers(operand) for operand in operands), strict=True)
    assert numbers(into) == [reference(dtype, operator, column, divisor) for column in columns]


def test_the_reference_and_fold_know_the_same_types_and_operators() -> None:
    assert set(ROUND) == set(DTYPES)
    assert set(ORDINARY) == set(OPERATORS)


def test_operands_are_combined_in_list_order() -> None:
    large, small, negative = (np.array([value], np.float32) for value in (1e8, 1.0, -1e8))
    into = np.zeros(1, np.float32)
    fold([large, small, negative], into, "sum")
    assert into[0] == 0
    fold([large, negative, small], into, "sum")
    assert into[0] == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_rounded_once(dtype: str) -> None:
    """1 + e + e, where e is half of what 1 can resolve: rounding at each step would lose both."""
    half_a_step = 2.0**-11 if dtype == "float16" else 2.0**-8
    operands = [np.array([value], DTYPES[dtype]) for value in (1.0, half_a_step, half_a_step)]
    into = np.zeros(1, DTYPES[dtype])
    fold(operands, into, "sum")
    assert float(into[0]) == 1 + 2 * half_a_step


def test_the_average_of_narrow_floats_does_not_overflow() -> None:
    operands = [np.full(1, 60000, np.float16)] * 3
    into = np.zeros(1, np.float16)
    fold(operands, into, "avg", 3)
    assert into[0] == np.float16(60000)


@pytest.mark.parametrize(("sums", "average"), [((-7, 0), -3), ((7, 0), 3), ((-1, 0), 0), ((100, 100), -28)])
def test_integer_averages_truncate_toward_zero_after_wrapping(sums: tuple[int, int], average: int) -> None:
    into = np.zeros(1, np.int8)
    fold([np.array([value], np.int8) for value in sums], into, "avg", 2)
    assert into[0] == average


@pytest.mark.parametrize(("dtype", "value", "average"), [("int8", -128, 0), ("int8", 127, 0), ("uint8", 255, 0)])
def test_a_divisor_may_exceed_the_type(dtype: str, value: int, average: int) -> None:
    into = np.zeros(1, DTYPES[dtype])
    fold([np.array([value], DTYPES[dtype]), np.array([0], DTYPES[dtype])], into, "avg", 300)
    assert into[0] == average


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_the_target_may_be_any_operand(dtype: str, number: int, position: int) -> None:
    operands = random_operands(dtype, number, 100)
    apart = np.zeros(100, DTYPES[dtype])
    fold(operands, apart, "sum")
    into = operands[position % number]
    fold(operands, into, "sum")
    assert numbers(into) == numbers(apart)


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_lengths_around_the_block(count: int) -> None:
    """Element i is i modulo a prime, so that a block that is missed or moved shows."""
    ramp = (np.arange(count) % 8191).astype(np.int64)
    into = np.full(count, -1, np.int64)
    fold([ramp, 2 * ramp, 3 * ramp], into, "sum")
    assert np.array_equal(into, 6 * ramp)


def test_names_and_synonyms() -> None:
    for name, dtype in DTYPES.items():
        assert dtype_named(name.upper()) == (name, dtype)
        assert name_of(dtype) == name
    for synonym, name in SYNONYMS.items():
        assert dtype_named(synonym) == (name, DTYPES[name])
        assert synonym not in DTYPES


@pytest.mark.parametrize(("name", "loaded"), [("float16", False), ("bfloat16", True)])
def test_ml_dtypes_is_imported_when_it_is_needed(name: str, loaded: bool) -> None:
    """It is slower to import than all else of a small run."""
    code = f"import sys, suites.perf; from collectives.dtypes import DTYPES; DTYPES['{name}']"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print('ml_dtypes' in sys.modules)"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == f"{loaded}\n"


def test_unknown_types_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown dtype 'flaot32': did you mean 'float32'"):
        dtype_named("flaot32")
    with pytest.raises(UsageError, match="unknown dtype 'xyz': known: int8, "):
        dtype_named("xyz")
    with pytest.raises(UsageError, match="dtype complex64 is not supported"):
        name_of(np.dtype(np.complex64))
