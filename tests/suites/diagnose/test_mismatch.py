"""In what calls under one number may differ, and who is then at fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suites.diagnose.case import case_of
from suites.diagnose.facts import Call, Fact, Group, Place, Seen, Signature, State, Who
from suites.diagnose.judge import judge
from suites.diagnose.people import UNNAMED
from suites.diagnose.verdict import Verdict

ALIKE = Signature("reduce", 64, "float32", "sum", 0)


def verdict(*calls: Call) -> Verdict:
    place = Place("0.log", 1)
    facts: list[Fact] = [Seen(place, "a log"), Group("g", place, ranks=(0, 1, 2, 3)), *calls]
    return judge(case_of(facts))


def call(rank: int, seq: int, signature: Signature, state: State = "pending") -> Call:
    return Call(Who(rank), Place(f"{rank}.log", seq), "g", seq, signature, state)


@pytest.mark.parametrize(
    ("aspect", "other"),
    [
        ("operation", Signature("allreduce", 64, "float32", "sum")),
        ("count", Signature("reduce", 65, "float32", "sum", 0)),
        ("dtype", Signature("reduce", 64, "float16", "sum", 0)),
        ("operator", Signature("reduce", 64, "float32", "max", 0)),
        ("root", Signature("reduce", 64, "float32", "sum", 1)),
        ("count, root", Signature("reduce", 65, "float32", "sum", 1)),
    ],
)
def test_what_differs_is_said_and_the_minority_named(aspect: str, other: Signature) -> None:
    told = verdict(*(call(rank, 7, other if rank == 2 else ALIKE) for rank in range(4)))
    assert (told.name, told.culprits, told.waiting) == ("mismatch", {2}, {0, 1, 3})
    assert f"ranks differ in {aspect} at" in told.explanation
    assert told.place is not None
    assert (told.place.file, told.place.line) == ("2.log", 7)


@pytest.mark.parametrize(("count", "name"), [(1, "joined"), (4, "mismatch")])
def test_a_barrier_may_be_an_allreduce_of_one_element(count: int, name: str) -> None:
    one, other = Signature("barrier"), Signature("allreduce", count)
    assert verdict(*(call(rank, 7, other if rank == 2 else one) for rank in range(4))).name == name


def test_two_calls_that_one_rank_makes_the_other_way_round_differ_in_order() -> None:
    first, second = Signature("allgather", 64), Signature("reduce_scatter", 32)
    calls = [
        call(rank, seq, first if (seq == 7) != (rank == 2) else second, "entered")
        for rank in range(4)
        for seq in (7, 8)
    ]
    told = verdict(*calls)
    assert (told.name, told.culprits) == ("mismatch", {2})
    assert "in order" in told.explanation
    assert told.at is not None
    assert told.at.seq == 7


def test_two_against_two_are_both_shown_and_nobody_is_named() -> None:
    told = verdict(*(call(rank, 7, Signature("allgather" if rank % 2 else "reduce")) for rank in range(4)))
    assert (told.name, told.culprits, told.confidence) == ("mismatch", frozenset(), "likely")
    assert [people for _, people in told.sides] == [{0, 2}, {1, 3}]


@pytest.mark.parametrize(("key", "name"), [("g", "mismatch"), (UNNAMED, "none")])
def test_ended_calls_of_no_named_group_differ_from_none(key: str, name: str) -> None:
    """They may be of several groups."""
    calls = [replace(call(rank, 4, Signature("broadcast", 8 + rank // 3), "done"), group=key) for rank in range(4)]
    assert verdict(*calls).name == name
