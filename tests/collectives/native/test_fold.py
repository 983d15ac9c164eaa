"""The core's fold and copy against `collectives.dtypes.fold`, bit for bit, on every instruction set of this CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectives.dtypes import DTYPES, OPERATORS, Array
from collectives.dtypes import fold as portable_fold
from collectives.native import core, unavailable

_core: Any = core()
pytestmark = pytest.mark.skipif(_core is None, reason=str(unavailable()))

VARIANTS = ("baseline", "avx2", "avx512")
LENGTHS = (0, 1, 2, 7, 16, 33, 511, 1200, 4200)
"""In elements; the core's blocks are of 64 to 2048."""
DIVISORS = (2, 3, 8, 200, 300, 70_000, 1 << 40, (1 << 63) - 1)
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-45, -1e-45, 6e-8, 65504.0, 65520.0)

INDEX = {name: index for index, name in enumerate(DTYPES)}
OPERATOR = {name: index for index, name in enumerate(OPERATORS)}


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> Iterator[str]:
    before = _core.features()
    if not _core.choose(request.param):
        pytest.skip(f"this CPU has no {request.param}")
    yield request.param
    _core.choose(before)


def raw(array: Array) -> Array:
    """Its bytes: bfloat16 exports no buffer itself."""
    return array.view(np.uint8)


def random_bits(generator: np.random.Generator, dtype: str, count: int) -> Array:
    """Any bit patterns; for floats, a third of ordinary values and some special ones among them."""
    values = generator.integers(0, 256, count * DTYPES[dtype].itemsize, np.uint8).view(DTYPES[dtype])
    if DTYPES[dtype].kind not in "iu":
        with np.errstate(all="ignore"):
            ordinary = generator.normal(0, 3, count).astype(DTYPES[dtype])
            special = generator.choice(SPECIAL, count).astype(DTYPES[dtype])
        kind = generator.integers(0, 8, count)
        values = np.where(kind < 3, ordinary, np.where(kind == 3, special, values))
    return values


def expected(operands: Sequence[Array], operator: str, divisor: int = 1) -> Array:
    result = np.zeros_like(operands[0])
    with np.errstate(all="ignore"):
        portable_fold(operands, result, operator, divisor)
    return result


def assert_same(got: Array, wanted: Array) -> None:
    """The same bits, or NaN in both."""
    differ = (raw(got) != raw(wanted)).reshape(len(got), got.itemsize).any(axis=1)
    if got.dtype.kind not in "iu":
        with np.errstate(invalid="ignore"):  # signalling NaNs
            differ &= ~(np.isnan(got) & np.isnan(wanted))
    at = np.flatnonzero(differ)
    assert not len(at), f"{len(at)} of {len(got)} differ, first at {at[0]}: {got[at[0]]} instead of {wanted[at[0]]}"


def core_fold(
    operands: Sequence[Array], outputs: Sequence[Array], dtype: str, operator: str, divisor: int, streaming: bool
) -> None:
    buffers = [raw(operand) for operand in operands], [raw(output) for output in outputs]
    _core.fold(INDEX[dtype], OPERATOR[operator], *buffers, divisor, streaming)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_fold_has_the_bits_of_the_portable_engine(dtype: str, operator: str, variant: str) -> None:
    generator = np.random.default_rng([INDEX[dtype], OPERATOR[operator]])
    for number in (1, 2, 3, 4, 8):
        for count in LENGTHS:
            operands = [random_bits(generator, dtype, count) for _ in range(number)]
            divisor = int(generator.choice(DIVISORS)) if operator == "avg" else 1
            wanted = expected(operands, operator, divisor)
            for outputs_number, streaming in ((1, False), (1, True), (2, False), (3, True)):
                outputs = [random_bits(generator, dtype, count) for _ in range(outputs_number)]
                core_fold(operands, outputs, dtype, operator, divisor, streaming)
                for output in outputs:
                    assert_same(output, wanted)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, list[Array], int]:
    """dtype, operator, operands of drawn bits at drawn addresses, divisor."""
    dtype = draw(st.sampled_from(list(DTYPES)))
    operator = draw(st.sampled_from(list(OPERATORS)))
    length = draw(st.integers(0, 40)) * DTYPES[dtype].itemsize
    operands = []
    for _ in range(draw(st.integers(1, 8))):
        shift = draw(st.integers(0, 9))
        bits = draw(st.binary(min_size=length, max_size=length))
        operands.append(np.frombuffer(bytes(shift) + bits, np.uint8, length, shift).view(DTYPES[dtype]))
    return dtype, operator, operands, draw(st.integers(1, (1 << 63) - 1)) if operator == "avg" else 1


@given(case=cases(), shift=st.integers(0, 70), streaming=st.booleans())
def test_fold_takes_any_bits_at_any_address(
    case: tuple[str, str, list[Array], int], shift: int, streaming: bool
) -> None:
    dtype, operator, operands, divisor = case
    length = operands[0].nbytes
    around = np.full(shift + length + 70, 0xA5, np.uint8)
    output = around[shift : shift + length]
    _core.fold(INDEX[dtype], OPERATOR[operator], [raw(each) for each in operands], [output], divisor, streaming)
    assert_same(output.view(DTYPES[dtype]), expected(operands, operator, divisor))
    assert (around[:shift] == 0xA5).all()
    assert (around[shift + length :] == 0xA5).all()


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_output_may_be_any_operand(dtype: str, position: int, streaming: bool, variant: str) -> None:
    generator = np.random.default_rng(position)
    for operator, divisor in (("sum", 1), ("avg", 4)):
        operands = [random_bits(generator, dtype, 3000) for _ in range(4)]
        wanted = expected(operands, operator, divisor)
        outputs = [operands[position], np.zeros_like(operands[0])]
        core_fold(operands, outputs, dtype, operator, divisor, streaming)
        for output in outputs:
            assert_same(output, wanted)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 1000, 1 << 20])
def test_copy_copies(length: int, streaming: bool) -> None:
    source = np.random.default_rng(length).integers(0, 256, length, np.uint8)
    for shift in (0, 1, 63):
        around = np.full(shift + length + 1, 0xA5, np.uint8)
        _core.copy(around[shift : shift + length], source, streaming)
        assert (around[shift : shift + length] == source).all()
        assert (around[:shift] == 0xA5).all()
        assert around[-1] == 0xA5


def four(value: int = 1) -> bytearray:
    return bytearray([value] * 4)


SHARED = bytearray(8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 0, [four()], [four()], 1, False), "dtype 10 is not an index of DTYPES, 0 to 9"),
        ((-1, 0, [four()], [four()], 1, False), "dtype -1"),
        ((0, 5, [four()], [four()], 1, False), "operator 5 is not an index of OPERATORS, 0 to 4"),
        ((0, 0, [], [four()], 1, False), "0 operands and 1 outputs"),
        ((0, 0, [four()], [], 1, False), "1 operands and 0 outputs"),
        ((0, 0, [four(), bytes(5)], [four()], 1, False), "buffers of 4 and 5 bytes"),
        ((0, 0, [four()], [bytearray(3)], 1, False), "buffers of 4 and 3 bytes"),
        ((4, 0, [four()], [four()], 1, False), "4 bytes are no whole number of elements of 8 bytes"),
        ((0, 0, [four()], [bytes(4)], 1, False), "read-only"),
        ((0, 4, [four()], [four()], 0, False), "divisor 0"),
        ((0, 4, [four()], [four()], -2, False), "divisor -2"),
        ((0, 4, [four()], [four()], 1 << 64, False), "divisor 18446744073709551616"),
        ((0, 0, [memoryview(SHARED)[:4]], [memoryview(SHARED)[1:5]], 1, False), "overlaps"),
        ((0, 0, [four()], [memoryview(SHARED)[:4], memoryview(SHARED)[:4]], 1, False), "overlaps"),
    ],
)
def test_fold_refuses(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.fold(*arguments)


def test_fold_refuses_what_is_no_buffer() -> None:
    with pytest.raises(TypeError):
        _core.fold(0, 0, [four(), 7], [four()], 1, False)


@pytest.mark.parametrize(
    ("to", "source", "message"),
    [
        (four(), bytes(5), "buffers of 5 and 4 bytes"),
        (bytes(4), four(), "read-only"),
        (memoryview(SHARED)[2:6], memoryview(SHARED)[:4], "overlap"),
        (memoryview(SHARED)[:4], memoryview(SHARED)[:4], "overlap"),
    ],
)
def test_copy_refuses(to: Any, source: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.copy(to, source, False)


def test_a_refusal_keeps_no_buffer() -> None:
    """A bytearray cannot grow while a buffer of it is held."""
    operand, output = four(), bytearray(3)
    with pytest.raises(ValueError, match="buffers of 4 and 3 bytes"):
        _core.fold(0, 0, [operand], [output], 1, False)
    operand.append(1)
    output.append(1)
    _core.fold(0, 0, [four(3)], [output], 1, False)
    assert output == four(3)
    output.append(1)


def test_an_unknown_instruction_set_changes_nothing() -> None:
    before = _core.features()
    assert before in VARIANTS
    assert not _core.choose("abacus")
    assert _core.features() == before
