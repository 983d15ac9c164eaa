"""Buffers: what the controller counts is what a rank takes, sets never overlap, and a cold cache is really cold."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from collectives.dtypes import DTYPES, Array
from collectives.ops import COLLECTIVES
from suites.case import Case
from suites.jobs.arena import MOST_SETS, Arena, BufferSet, layout

PAGE = 4096
MIB = 1 << 20
PLACED = [
    (name, in_place)
    for name, row in COLLECTIVES.items()
    for in_place in (False, True)
    if name != "barrier" and (not in_place or row.alias)
]


def case(collective: str = "allreduce", count: int = 1000, *, in_place: bool = False, dtype: str = "float32") -> Case:
    return Case("builtin", collective, "any", 1, count, dtype, "sum", 1, in_place)


def arena(what: Case, rank: int = 0, ranks: int = 3, beyond: int = 0) -> Arena:
    shape = what.shape(rank, ranks)
    return Arena(what, shape, layout(what, rank, ranks, beyond, 0), lambda n, dtype: np.empty(n, DTYPES[dtype]))


def address(view: Array) -> int:
    return int(view.__array_interface__["data"][0])


def extent(pair: BufferSet) -> tuple[int, int]:
    """The first byte of a set and the one after its last."""
    views = [view for view in (pair.send, pair.recv) if view is not None]
    return min(map(address, views)), max(address(view) + view.nbytes for view in views)


@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize(("collective", "in_place"), PLACED)
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float64"])
def test_a_rank_has_the_buffers_of_its_shape_on_a_page(collective: str, in_place: bool, dtype: str, rank: int) -> None:
    what = case(collective, in_place=in_place, dtype=dtype)
    shape = what.shape(rank, 3)
    (pair,) = arena(what, rank).sets
    for view, counts in ((pair.send, shape.send_counts), (pair.recv, shape.recv_counts)):
        assert (view is None) == (not counts)
        assert view is None or (len(view), view.dtype) == (sum(counts), DTYPES[dtype])
    start, stop = extent(pair)
    assert start % PAGE == 0
    # What is planned is what is used.
    assert stop - start == layout(what, rank, 3, 0, 0).set_bytes


@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize(("collective", "in_place"), PLACED)
def test_buffers_coincide_in_place_as_the_collective_says_and_never_otherwise(
    collective: str, in_place: bool, rank: int
) -> None:
    what = case(collective, in_place=in_place)
    (pair,) = arena(what, rank).sets
    if pair.send is None or pair.recv is None:
        return
    alias = COLLECTIVES[collective].alias
    if in_place and alias and (offset := alias(what.shape(rank, 3))) is not None:
        assert address(pair.send) - address(pair.recv) == offset * 4
        assert np.may_share_memory(pair.send, pair.recv)
    else:
        assert not np.may_share_memory(pair.send, pair.recv)


@pytest.mark.parametrize(("count", "beyond"), [(1, 0), (1, 32 * MIB), (1000, MIB), (300_000, 32 * MIB), (MIB, MIB)])
@pytest.mark.parametrize("in_place", [False, True])
def test_sets_lie_apart_within_what_was_counted(count: int, beyond: int, in_place: bool) -> None:
    made = arena(case(count=count, in_place=in_place), beyond=beyond)
    extents = [extent(pair) for pair in made.sets]
    assert len(extents) == made.layout.sets
    assert all(before[1] <= after[0] and after[0] % PAGE == 0 for before, after in pairwise(extents))
    first = address(made.memory)
    assert first <= extents[0][0]
    assert extents[-1][1] <= first + made.layout.arena <= first + made.memory.nbytes


@pytest.mark.parametrize("count", [1, 1000, 30_000, 300_000, 3 * MIB, 20 * MIB])
def test_a_cold_rotation_reaches_beyond_what_was_asked_or_is_pushed_out(count: int) -> None:
    beyond = 32 * MIB
    planned = layout(case(count=count), 0, 2, beyond, 0)
    assert planned.arena >= beyond
    assert planned.arena < beyond + planned.stride
    assert 1 <= planned.sets <= MOST_SETS
    assert planned.spread is (planned.sets * 2 * 4 * count < beyond // 2)


def test_a_warm_cache_is_one_set() -> None:
    planned = layout(case(), 0, 2, 0, 0)
    assert (planned.sets, planned.spread, planned.stride) == (1, False, 2 * PAGE)


def test_scratch_is_counted_for_every_set() -> None:
    without, planned = (layout(case(dtype="float64"), 0, 2, MIB, count) for count in (0, 500))
    assert planned.total == planned.arena + planned.sets * 500 * 8
    assert without.total == without.arena == planned.arena


def test_pushing_out_writes_all_that_lies_between_sets_and_nothing_of_them() -> None:
    made = arena(case(count=10), beyond=2 * MIB)
    assert made.layout.spread
    made.memory[:] = 7
    made.push_out()
    assert all((view == 7).all() for pair in made.sets for view in (pair.send, pair.recv) if view is not None)
    assert np.count_nonzero(made.memory[: made.layout.arena // 4] == 0) * 4 == made.layout.arena - MOST_SETS * 2 * PAGE


def test_pushing_out_leaves_a_dense_rotation_alone() -> None:
    made = arena(case(count=100_000), beyond=2 * MIB)
    made.memory[:] = 7
    made.push_out()
    assert (made.memory == 7).all()
