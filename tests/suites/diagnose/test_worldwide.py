"""Processes that a library numbers in its communicator are the world's ranks, where that is sure."""

from __future__ import annotations

import pytest

from suites.diagnose.case import case_of
from suites.diagnose.facts import Call, Fact, Group, Identity, Level, Place, Signature, Subject, Trouble, Who
from suites.diagnose.judge import judge

Member = tuple[int, str, int]
"""Rank in the communicator, host, and card there."""


def told_of(key: str, size: int, *members: Member) -> list[Fact]:
    """What the communicator's library prints when it is set up."""
    place = Place("job.log", 1)
    return [
        Group(key, place, size=size),
        *(
            Identity(Who(group=key, group_rank=rank, host=host, pid=_pid(host, card), device=f"gpu{card}"), place)
            for rank, host, card in members
        ),
    ]


def _pid(host: str, card: int) -> int:
    return 4000 + 100 * len(host) + card


def waiting(*ranks: int) -> list[Fact]:
    """What a framework prints of them, in which nothing tells a process."""
    return [Call(Who(rank), Place("job.log", 50), "0", 7, Signature("allreduce"), "pending") for rank in ranks]


def fails(host: str, card: int) -> Fact:
    who = Who(host=host, pid=_pid(host, card), device=f"gpu{card}")
    return Trouble(who, Place("job.log", 20), Level.INITIATING, "its GPU fails", "crashed", (Subject("rank", who),))


def ranks_at_fault(*facts: Fact) -> list[int | None]:
    case = case_of(facts)
    return [case.people.persons[number].rank for number in judge(case).culprits]


BLOCKS = [(rank, "abc"[rank // 2 :][:1] * (1 + rank // 2), rank % 2) for rank in range(4)]
"""Two cards on each of two hosts, in order."""


def test_the_rank_of_a_process_is_its_place_in_the_communicator_of_everybody() -> None:
    seen = [*told_of("comm 1", 4, *BLOCKS), *waiting(0, 1, 3)]
    assert ranks_at_fault(*seen, fails("bb", 0)) == [2]
    people = case_of([*seen, fails("bb", 0)]).people
    assert [(person.rank, person.host) for person in people.persons] == [(0, "a"), (1, "a"), (2, "bb"), (3, "bb")]


def test_one_card_of_each_host_shows_an_order_only_if_all_are_seen() -> None:
    apart = [(rank, "h" * (rank + 1), 0) for rank in range(3)]
    assert ranks_at_fault(*told_of("comm 1", 3, *apart), *waiting(0, 2), fails("hh", 0)) == [1]
    assert ranks_at_fault(*told_of("comm 1", 3, *apart[:2]), *waiting(0, 2), fails("hh", 0)) == [None]


@pytest.mark.parametrize(
    "members",
    [
        [(0, "a", 0), (1, "a", 2), (2, "bb", 0), (3, "bb", 2)],
        [(0, "a", 1), (1, "a", 0), (2, "bb", 1), (3, "bb", 0)],
        [(0, "a", 0), (1, "a", 0), (2, "bb", 0), (3, "bb", 0)],
    ],
    ids=["every second card", "cards the other way round", "cards hidden from each other"],
)
def test_cards_out_of_order_tell_that_it_may_be_another_group(members: list[Member]) -> None:
    assert ranks_at_fault(*told_of("comm 1", 4, *members), *waiting(0, 1, 3), fails("bb", members[-1][2])) == [None]


def test_of_two_communicators_as_large_as_the_world_seems_none_is_taken_for_it() -> None:
    """One a host: the ranks of the second host have said nothing."""
    here, there = told_of("comm 1", 2, (0, "a", 0), (1, "a", 1)), told_of("comm 2", 2, (0, "bb", 0), (1, "bb", 1))
    assert ranks_at_fault(*here, *waiting(0, 1), fails("a", 1)) == [1]
    assert ranks_at_fault(*here, *there, *waiting(0, 1), fails("a", 1)) == [None]


def test_a_process_whose_rank_is_told_is_no_other() -> None:
    known = Identity(Who(rank=0, host="bb", pid=_pid("bb", 0)), Place("job.log", 2))
    assert ranks_at_fault(*told_of("comm 1", 4, *BLOCKS), known, *waiting(0, 1, 3), fails("a", 1)) == [None]
