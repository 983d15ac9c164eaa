"""Inputs and their check: every fold is exact in any order, and no wrong result looks right."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suites.pattern
from collectives.dtypes import DTYPES, OPERATORS, Array, fold
from collectives.ops import COLLECTIVES, Piece
from suites.pattern import PERIOD, Pattern

DRAWN = 2000
"""Elements folded in a test; enough to see every value of a narrow type."""
FOLDS = [
    *((dtype, operator, ranks) for dtype in DTYPES for operator in OPERATORS for ranks in (1, 2, 3, 8)),
    # More ranks than the type counts exactly.
    *(("int8", operator, 130) for operator in OPERATORS),
    *(("bfloat16", operator, 260) for operator in ("sum", "prod", "avg")),
]


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Hundreds of ranks' inputs would stay in the caches of the pattern."""
    yield
    for cached in (suites.pattern._template, suites.pattern._expected):
        cached.cache_clear()


def filled(pattern: Pattern, rank: int, count: int) -> Array:
    view = np.zeros(count, DTYPES[pattern.dtype])
    pattern.fill(view, rank)
    return view


def everything(count: int, ranks: int) -> list[Piece]:
    return [Piece(0, count, tuple(range(ranks)), 0)]


def folded(pattern: Pattern, order: Sequence[int], count: int) -> Array:
    """The inputs of the ranks combined one by one in this order, as an engine that takes several steps would."""
    assert pattern.operator
    total = filled(pattern, order[0], count)
    for place, rank in enumerate(order[1:], 2):
        divisor = len(order) if pattern.operator == "avg" and place == len(order) else 1
        fold([total, filled(pattern, rank, count)], total, pattern.operator, divisor)
    return total


@pytest.mark.parametrize(("dtype", "operator", "ranks"), FOLDS)
def test_any_order_of_folding_gives_exactly_the_expected_bits(dtype: str, operator: str, ranks: int) -> None:
    pattern = Pattern(dtype, operator, ranks)
    order = random.Random(f"{dtype} {operator} {ranks}").sample(range(ranks), ranks)
    result = folded(pattern, order, DRAWN)
    assert pattern.check(result, everything(DRAWN, ranks)) is None
    # A fold that is the same everywhere would not show a chunk in the wrong place. (Nothing helps whole numbers whose
    # sum is less than their number: the average is 0.)
    assert len(set(result.tolist())) > 1 or (operator == "avg" and ranks > np.iinfo(DTYPES[dtype]).max)
    if operator in ("sum", "prod"):
        inputs = np.array([filled(pattern, rank, DRAWN).astype(np.int64) for rank in order], object)
        whole = inputs.sum(axis=0) if operator == "sum" else inputs.prod(axis=0)
        assert result.astype(np.float64).tolist() == whole.astype(np.float64).tolist()


@pytest.mark.parametrize(("dtype", "operator", "ranks"), [fold for fold in FOLDS if fold[1] in ("sum", "prod")])
def test_a_rank_left_out_or_folded_twice_is_found(dtype: str, operator: str, ranks: int) -> None:
    pattern = Pattern(dtype, operator, ranks)
    for order in ([*range(1, ranks)], [*range(ranks), 0]):
        if order:
            assert pattern.check(folded(pattern, order, DRAWN), everything(DRAWN, ranks))


@pytest.fixture(params=["uint8", "bfloat16", "float32", "int64"])
def moved(request: pytest.FixtureRequest) -> Pattern:
    """Inputs that are only moved."""
    return Pattern(request.param, None, 1)


def test_inputs_differ_from_rank_to_rank_and_from_index_to_index(moved: Pattern) -> None:
    first, second = filled(moved, 0, DRAWN), filled(moved, 1, DRAWN)
    assert np.count_nonzero(first != second) > 0.98 * DRAWN
    assert np.count_nonzero(first[1:] != first[:-1]) > 0.98 * DRAWN


@given(rank=st.integers(0, 500), at=st.integers(0, 2 * PERIOD), bit=st.integers(0, 7), byte=st.integers(0, 7))
def test_one_flipped_bit_is_found_where_it_is(rank: int, at: int, bit: int, byte: int) -> None:
    pattern, count = Pattern("float64", None, 1), 2 * PERIOD + 1
    result = filled(pattern, rank, count)
    result.view(np.uint8)[at * 8 + byte] ^= 1 << bit
    wrong = pattern.check(result, [Piece(0, count, (rank,), 0)])
    assert wrong
    assert (wrong.count, wrong.index) == (1, at)


def test_the_first_wrong_element_is_told_with_what_it_should_be(moved: Pattern) -> None:
    count = PERIOD + 100
    result = filled(moved, 3, count)
    expected = float(result[PERIOD + 7])
    result[PERIOD + 7] = 1 if expected == 0 else 0
    result[PERIOD + 50 :] = np.flip(result[PERIOD + 50 :])
    wrong = moved.check(result, [Piece(0, count, (3,), 0)])
    assert wrong
    assert (wrong.index, wrong.expected, wrong.got) == (PERIOD + 7, expected, float(result[PERIOD + 7]))
    assert wrong.count > 20


def test_a_not_a_number_and_a_negative_zero_are_wrong() -> None:
    pattern = Pattern("float16", None, 1)
    result = filled(pattern, 0, PERIOD)
    zero = int(np.flatnonzero(result == 0)[0])
    result[zero] = -0.0
    result[zero + 1] = np.nan
    wrong = pattern.check(result, [Piece(0, PERIOD, (0,), 0)])
    assert wrong
    assert (wrong.count, wrong.index) == (2, zero)


@pytest.mark.parametrize("shift", [1, 4096, 1 << 16, 1 << 20, PERIOD - 1])
def test_a_shifted_chunk_is_found(moved: Pattern, shift: int) -> None:
    """As when a segment lands in the wrong place; only a multiple of the prime period would hide."""
    start, length, count = 1000, 5000, (1 << 20) + 10_000
    result = filled(moved, 0, count)
    result[start : start + length] = filled(moved, 0, count)[start + shift :][:length]
    wrong = moved.check(result, [Piece(0, count, (0,), 0)])
    assert wrong
    assert wrong.count > 0.98 * length
    assert start <= wrong.index < start + 20


def test_swapped_ranks_are_found_from_the_first_element_of_the_first(moved: Pattern) -> None:
    """An allgather whose blocks 1 and 2 changed places."""
    count = 300
    pieces = COLLECTIVES["allgather"].oracle(COLLECTIVES["allgather"].shape(0, 4, count), count)
    blocks = [filled(moved, rank, count) for rank in (0, 2, 1, 3)]
    wrong = moved.check(np.concatenate(blocks), pieces)
    assert wrong
    assert count <= wrong.index < count + 10
    assert 1.9 * count < wrong.count <= 2 * count


@pytest.mark.parametrize("name", [name for name, row in COLLECTIVES.items() if not row.reduces and name != "barrier"])
@given(ranks=st.integers(1, 6), count=st.integers(1, 40), root=st.integers(0, 5), data=st.data())
def test_the_oracle_of_every_moving_collective_is_met_by_moved_inputs(
    name: str, ranks: int, count: int, root: int, data: st.DataObject
) -> None:
    """Pieces with a source offset: what a correct result holds is right, and one element off is not."""
    row, pattern = COLLECTIVES[name], Pattern("int32", None, 1)
    rank = data.draw(st.integers(0, ranks - 1))
    shape = row.shape(rank, ranks, count, root=root % ranks)
    pieces = row.oracle(shape, count)
    result = np.zeros(shape.recv.count, np.int32)
    for piece in pieces:
        source = filled(pattern, piece.ranks[0], piece.source + piece.stop - piece.start)
        result[piece.start : piece.stop] = source[piece.source :]
    assert pattern.check(result, pieces) is None
    if len(result):
        at = data.draw(st.integers(0, len(result) - 1))
        result[at] += 1
        wrong = pattern.check(result, pieces)
        assert wrong is not None
        assert (wrong.count, wrong.index) == (1, at)


@pytest.mark.parametrize("start", [0, 96, 97, 250])
def test_a_short_period_is_checked_like_a_long_one(start: int) -> None:
    pattern = Pattern("int32", None, 1, period=97)
    result = filled(pattern, 3, 1000)
    assert np.array_equal(result[:97], result[97:194])
    assert pattern.check(result[start:], [Piece(0, 1000 - start, (3,), start)]) is None
    assert pattern.check(result[start:], [Piece(0, 1000 - start, (3,), start + 1)]) is not None
