"""The exercise as data: every collective in every group, orders that end, sizes on both sides of every limit."""

from __future__ import annotations

from itertools import pairwise

import pytest

from collectives.dtypes import DTYPES
from collectives.ops import COLLECTIVES
from opsdist_cli import livediagnosis
from suites.exercise import LAYOUTS, calls_of, groups_of, script
from suites.strikes import hung

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", SIZES)
def test_it_comes_to_its_end_even_where_nobody_leaves_a_call_early(size: int, layout: str) -> None:
    calls = script(size, layout)
    assert hung({rank: calls_of(calls, rank) for rank in range(size)}) == {}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", SIZES)
def test_every_group_runs_every_collective_in_several_sizes(size: int, layout: str) -> None:
    calls = script(size, layout)
    for group in groups_of(size, LAYOUTS[layout]):
        mine = [call for call in calls if call.group == group and call.pair is None]
        assert {call.collective for call in mine} == set(COLLECTIVES)
        assert [call.seq for call in mine] == list(range(1, len(mine) + 1))
        for name in set(COLLECTIVES) - {"barrier"}:
            sizes = {call.count * DTYPES[call.dtype].itemsize for call in mine if call.collective == name}
            assert min(sizes) <= 64
            assert max(sizes) > (32 << 10)  # no slot holds it
        if len(group.ranks) > 1:
            assert any(call.root for call in mine)
            assert {call.pair for call in calls if call.group == group} > {None}


@pytest.mark.parametrize("size", SIZES)
def test_one_call_of_a_group_is_never_taken_for_the_next_one(size: int) -> None:
    calls = script(size)
    for group in groups_of(size):
        mine = [call for call in calls if call.group == group and call.pair is None]
        assert all(one.signature != other.signature for one, other in pairwise(mine))


@pytest.mark.parametrize("size", [4, 6, 8, 9, 12, 16])
def test_a_row_and_a_column_have_one_rank_in_common(size: int) -> None:
    groups = groups_of(size)
    rows = [group.ranks for group in groups if group.family == "rows"]
    columns = [group.ranks for group in groups if group.family == "columns"]
    assert all(len(set(row) & set(column)) == 1 for row in rows for column in columns)
    assert all(len(ranks) > 1 for ranks in (*rows, *columns))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("family", ["world", "halves", "rows", "columns"])
def test_every_rank_is_in_one_group_of_a_family(size: int, family: str) -> None:
    ranks = [rank for group in groups_of(size, (family,)) for rank in group.ranks]
    assert sorted(ranks) == (list(range(size)) if ranks else [])


def test_many_types_and_operators_take_part() -> None:
    calls = script(4)
    assert len({call.dtype for call in calls}) >= 7
    assert {call.operator for call in calls} == {"sum", "max", "min", "avg", "prod"}


def test_the_command_knows_all_layouts() -> None:
    assert set(livediagnosis.LAYOUTS) == set(LAYOUTS)
