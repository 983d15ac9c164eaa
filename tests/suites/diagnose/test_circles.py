"""Who waits for whom in a circle, and who in one call or message, which is no circle."""

from __future__ import annotations

import pytest

from suites.diagnose.facts import Call, Place, Signature, Waiting, Who
from suites.diagnose.verdict import At
from tests.suites.diagnose.telling import call, group, verdict


def test_groups_entered_in_opposite_order_are_a_circle() -> None:
    told = verdict(
        group("g", 0, 1), group("h", 0, 1),
        call(0, "g", 4, at=1.0), call(0, "h", 9, at=2.0), call(1, "h", 9, at=1.0), call(1, "g", 4, at=2.0),
    )  # fmt: skip
    assert (told.name, told.culprits) == ("cycle", {0, 1})


def test_who_leaves_out_a_call_makes_a_circle_with_those_in_it() -> None:
    """Rank 1 is in h, where the others come after g, which it has left out."""
    told = verdict(
        group("g", 0, 1, 2), group("h", 0, 1, 2), call(1, "h", 9, at=1.0), call(0, "g", 4, at=1.0),
        call(0, "h", 9, at=2.0), call(2, "g", 4, at=1.0), call(2, "h", 9, at=2.0), telling=3,
    )  # fmt: skip
    assert (told.name, told.culprits) == ("cycle", {0, 1, 2})


def test_a_device_that_is_in_a_message_with_both_ends_is_not_what_others_wait_for() -> None:
    """Rank 1 comes to g after its message from rank 0, which does not end; of rank 3 there is no evidence."""
    ends = [
        Call(
            Who(rank),
            Place(f"{rank}.log", 1),
            "p",
            None,
            Signature(op),
            "pending",
            Who(1 - rank),
            rank == 1,
            entered=1.0,
        )
        for rank, op in enumerate(("send", "recv"))
    ]
    told = verdict(
        group("p", 0, 1), group("g", 1, 2, 3), *ends, call(1, "g", 4, at=2.0), call(2, "g", 4, at=1.0), telling=3
    )
    assert (told.name, told.culprits, told.suspects) == ("joined", frozenset(), {0, 1, 3})
    assert told.at == At("p", None, "send")


def test_what_is_behind_an_older_call_makes_no_circle() -> None:
    """Rank 0 has handed over g and h, and is held up in f, where all are; so is rank 1, which is in h not yet."""
    later = (call(0, "h", 9, at=3.0), call(1, "k", 5, at=3.0), call(2, "h", 9, at=1.0), call(3, "k", 5, at=1.0))
    told = verdict(
        group("f", 0, 1), group("h", 0, 1, 2), group("k", 0, 1, 3), call(0, "f", 4, at=1.0), call(1, "f", 4, at=1.0),
        *later, telling=4,
    )  # fmt: skip
    assert (told.name, told.culprits) == ("joined", frozenset())
    assert told.at is not None
    assert (told.at.group, told.at.seq) == ("f", 4)


@pytest.mark.parametrize("op", ["broadcast", "reduce", "gather", "scatter", "allreduce", "send"])
def test_ranks_that_wait_for_each_other_inside_of_one_collective_are_no_circle(op: str) -> None:
    told = verdict(
        group("g", 0, 1),
        Waiting(Who(0), Place("0.log", 8), (Who(1),), "g", 3, op),
        Waiting(Who(1), Place("1.log", 8), (Who(0),), "g", 3, op),
        telling=2,
    )
    assert (told.name == "cycle") == (op == "send")


def test_a_message_after_a_collective_waits_for_its_other_end() -> None:
    send = Call(Who(0), Place("0.log", 9), "g", 1, Signature("send"), "pending", peer=Who(1))
    told = verdict(group("g", 0, 1), call(0, "g", 1, state="done"), call(1, "g", 1, state="done"), send, telling=2)
    assert (told.name, told.culprits, told.waiting) == ("missing", {1}, {0})


def test_a_message_to_somebody_unheard_makes_it_suspected() -> None:
    send = Call(Who(0), Place("0.log", 9), "g", 1, Signature("send"), "pending", peer=Who(5))
    told = verdict(send, telling=1)
    assert (told.name, told.culprits, told.suspects) == ("undecided", frozenset(), {0, 1})
