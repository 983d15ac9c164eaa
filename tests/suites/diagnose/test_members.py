"""Ranks of which nothing is seen, and that must be, by the groups of others whose members nothing lists."""

from __future__ import annotations

import pytest

from suites.diagnose.facts import Call, Fact, Group, Place, Seen, Signature, Track, Who
from suites.diagnose.people import meet

pytestmark = pytest.mark.any_engine


def told(rank: int, group: str, last: int, *, under_way: bool = False, all_groups: bool = True) -> list[Fact]:
    """The rank has begun that many allreduces of the group; the last of them may be under way."""
    who, place, signature = Who(rank=rank), Place(f"dump_{rank}"), Signature("allreduce")
    pending = (Call(who, place, group, last, signature, "pending"),) if under_way else ()
    history = tuple((seq, signature) for seq in range(1, last + 1))
    return [
        Seen(place, "dump", who, verbose=True, all_groups=all_groups),
        Track(who, place, group, pending=pending, history=history, failures_end=True),
    ]


def ranks(facts: list[Fact]) -> list[int | None]:
    return [person.rank for person in meet(facts).persons]


def test_all_ranks_before_the_last_one_are_there_without_a_recording_of_the_world() -> None:
    assert ranks([*told(0, "4", 2), *told(3, "4", 2)]) == [0, 1, 2, 3]


@pytest.mark.parametrize("under_way", [True, False])
def test_a_group_with_more_members_than_can_be_in_it_tells_of_another_rank(under_way: bool) -> None:
    heads = Group("2", Place("dump_2"), heads=2)
    facts = [*told(0, "1", 3), *told(1, "1", 3), *told(2, "2", 3, under_way=under_way)]
    assert ranks([heads, *facts]) == [0, 1, 2, 3]
    assert ranks(facts) == ([0, 1, 2, 3] if under_way else [0, 1, 2])  # nobody waits in a group of one


def test_who_may_have_lost_its_calls_of_a_group_may_be_in_it() -> None:
    facts = [Group("2", Place("dump_2"), heads=2), *told(2, "2", 3), *told(1, "1", 3)]
    assert ranks([*facts, *told(0, "1", 3, all_groups=False)]) == [0, 1, 2]
