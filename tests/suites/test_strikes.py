"""Where injected faults strike: at the call that was asked for, or the nearest one where they are noticed."""

from __future__ import annotations

from typing import Any

import pytest

from collectives.dtypes import DTYPES
from collectives.ops import COLLECTIVES
from suites.errors import UsageError
from suites.exercise import LAYOUTS, Scheduled, calls_of, script
from suites.jobs.altered import altered
from suites.jobs.inject import FAULTS
from suites.strikes import Strike, brought_forward, hung, resolve

MISMATCHES = ("mismatch-op", "mismatch-size", "mismatch-dtype", "mismatch-root")


def struck(
    fault: str,
    *groups: str,
    rank: int = 1,
    at: str = "middle",
    size: int = 4,
    layout: str = "all",
    inside: bool = False,
    hosts: int = 1,
) -> tuple[Strike, Scheduled]:
    calls = script(size, layout)
    wanted: dict[str, Any] = {"fault": fault, "rank": rank, "at": at, "groups": groups, "inside": inside}
    strike = resolve(wanted, calls, layout, [f"node{rank * hosts // size}" for rank in range(size)])
    return strike, calls[strike.number - 1]


@pytest.mark.parametrize(("at", "seq"), [("first", 1), ("0", 1), ("7", 8), ("middle", 17), ("last", 33)])
def test_calls_are_counted_in_the_group_from_zero(at: str, seq: int) -> None:
    _, call = struck("kill", "rows", at=at)
    assert (call.group.name, call.seq) == ("row0", seq)


@pytest.mark.parametrize(
    ("layout", "group"), [("all", "world"), ("world", "world"), ("halves", "half0"), ("grid", "row0")]
)
def test_the_first_group_of_the_layout_is_the_default(layout: str, group: str) -> None:
    assert struck("kill", layout=layout)[1].group.name == group


def test_a_group_of_one_is_passed_over() -> None:
    assert struck("kill", layout="halves", size=2)[1].group.name == "world"


def test_a_group_has_a_name_and_a_family() -> None:
    assert struck("kill", "columns", rank=3)[1].group == struck("kill", "column1", rank=3)[1].group


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("fault", MISMATCHES)
def test_a_mismatch_is_one_in_what_it_says_and_nothing_else(fault: str, size: int, layout: str) -> None:
    for rank in range(size):
        strike, call = struck(fault, rank=rank, size=size, layout=layout)
        mine = calls_of(script(size, layout), rank)
        [(was, now)] = [pair for pair in zip(mine, altered(mine, rank, [strike]), strict=True) if pair[0] != pair[1]]
        assert was == call
        assert was.signature != now.signature
        same = {"op": was.collective == now.collective, "size": was.count == now.count, "root": was.root == now.root}
        same["dtype"] = was.dtype == now.dtype
        if fault != "mismatch-op":  # another operation may have no elements, or some
            assert [name for name, is_same in same.items() if not is_same] == [fault.partition("-")[2]]
        assert DTYPES[was.dtype].itemsize == DTYPES[now.dtype].itemsize


def test_nobody_else_calls_anything_else() -> None:
    strike, _ = struck("mismatch-op")
    mine = calls_of(script(4), 2)
    assert altered(mine, 2, [strike]) == list(mine)


@pytest.mark.parametrize("at", ["first", "middle", "last"])
@pytest.mark.parametrize("rank", range(4))
def test_faults_move_to_where_they_are_noticed(rank: int, at: str) -> None:
    assert COLLECTIVES[struck("mismatch-root", rank=rank, at=at)[1].collective].rooted
    assert struck("mismatch-size", rank=rank, at=at)[1].count
    _, call = struck("corrupt", rank=rank, at=at)
    row, own = COLLECTIVES[call.collective], call.group.ranks.index(rank)
    assert row.shape(own, len(call.group.ranks), call.count, root=call.root).recv.count
    assert struck("stop", rank=rank, at=at, inside=True)[1].together


@pytest.mark.parametrize("group", ["world", "rows", "columns", "halves"])
def test_in_one_group_the_order_is_a_mismatch(group: str) -> None:
    strike, call = struck("reorder", group)
    calls = script(4)
    assert strike.forward is not None
    other = calls[strike.forward - 1]
    assert (other.group, other.seq) == (call.group, call.seq + 1)
    numbers = [one.number for one in altered(calls_of(calls, 1), 1, [strike])]
    assert numbers.index(strike.forward) < numbers.index(strike.number)
    assert sorted(numbers) == [one.number for one in calls_of(calls, 1)]


@pytest.mark.parametrize("size", [4, 6, 8])
@pytest.mark.parametrize("groups", [("rows", "columns"), ("columns", "rows"), ("halves", "world"), ("world", "rows")])
def test_over_two_groups_it_makes_ranks_wait_in_a_circle(groups: tuple[str, str], size: int) -> None:
    calls = script(size)
    for rank in range(size):
        strike, call = struck("reorder", *groups, rank=rank, size=size)
        orders = {member: altered(calls_of(calls, member), member, [strike]) for member in range(size)}
        left = hung(orders)
        assert rank in left
        # Whoever waits is waited for by the struck rank, through others: all of them are still in a call.
        assert all(any(member in left for member in waiting.members if member != own) for own, waiting in left.items())
        assert call.group.family == groups[0]


def test_a_call_is_brought_forward_to_just_before_another() -> None:
    mine = calls_of(script(2, "world"), 0)[:5]
    assert [call.number for call in brought_forward(mine, 2, 4)] == [1, 4, 2, 3, 5]


@pytest.mark.parametrize(
    ("fault", "groups", "options", "words"),
    [
        ("kill", (), {"rank": 4}, "not in a world of 4"),
        ("kill", ("rows",), {"at": "33"}, "no call 33 among 33"),
        ("kill", ("row1",), {}, "in no group 'row1'"),
        ("kill", ("rows", "columns"), {}, "several are for reorder"),
        ("corrupt", (), {"at": "rendezvous"}, "wants a call"),
        ("missing", (), {"at": "rendezvous"}, "wants a call"),
        ("kill", (), {"inside": True}, "inside is for stop"),
        ("link-down", (), {}, "wants ranks on several hosts"),
        ("link-down", ("halves",), {"hosts": 2}, "no group 'halves' that would notice it; it is in"),
        ("kill", (), {"size": 1, "rank": 0}, "one rank"),
    ],
)
def test_what_could_never_be_noticed_is_refused(
    fault: str, groups: tuple[str, ...], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        struck(fault, *groups, **options)


@pytest.mark.parametrize(
    ("layout", "hosts", "group"), [("halves", 2, "world"), ("halves", 4, "half0"), ("grid", 2, "column1")]
)
def test_a_link_is_cut_where_a_group_is_on_both_sides_of_it(layout: str, hosts: int, group: str) -> None:
    strike, call = struck("link-down", layout=layout, hosts=hosts)
    assert (call.group.name, call.together, strike.rank) == (group, True, 1)


@pytest.mark.parametrize("fault", ["exit0", "sleep", "raise", "kill", "stop"])
def test_some_strike_before_the_ranks_meet(fault: str) -> None:
    wanted = {"fault": fault, "rank": 0, "at": "rendezvous", "groups": (), "inside": False}
    assert resolve(wanted, script(2), "all", ["node1"] * 2).number == 0


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fault", sorted(set(FAULTS) - {"link-down"}))
def test_every_fault_has_a_place_for_every_rank(fault: str, layout: str) -> None:
    for size in (2, 3, 4, 8):
        for rank in range(size):
            strike, call = struck(fault, rank=rank, size=size, layout=layout)
            assert rank in call.members
            assert len(call.members) > 1
            assert strike.rank == rank
