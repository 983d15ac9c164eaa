"""Where it is told whose device has begun what: a rank is in a call once its device is at it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suites.diagnose.facts import Call, Place, Signature, Track, Who
from suites.diagnose.verdict import At
from tests.suites.diagnose.telling import group, verdict


def under_way(rank: int, of: str, seq: int, at: float, *, running: bool = False) -> Call:
    place = Place(f"{rank}.dump")
    return Call(Who(rank), place, of, seq, Signature("allreduce"), "pending", entered=at, running=running)


def message(rank: int, peer: int, *, running: bool = False) -> Call:
    way = "send" if rank < peer else "recv"
    made = replace(under_way(rank, "p", 0, 1.0, running=running), seq=None, signature=Signature(way))
    return replace(made, peer=Who(peer), peer_sends=way == "send")


def recorded(rank: int, of: str, *pending: Call, starts: bool = True) -> Track:
    last = max((call.seq or 0 for call in pending), default=6)
    return Track(Who(rank), Place(f"{rank}.dump"), of, last, None, 6, pending, starts=starts)


@pytest.mark.parametrize(("starts", "name", "culprits"), [(True, "stuck", {1}), (False, "joined", set())])
def test_whose_device_is_at_nothing_while_others_are_at_its_call_is_stuck(
    starts: bool, name: str, culprits: set[int]
) -> None:
    """Of rank 1 it may not be told. What else it has called, rank 2 has not come to yet."""
    told = verdict(
        group("g", 0, 1, 2), group("h", 1, 2),
        *(recorded(rank, "g", under_way(rank, "g", 7, 2.0, running=True)) for rank in (0, 2)),
        recorded(1, "g", under_way(1, "g", 7, 3.0), starts=starts),
        recorded(1, "h", *[under_way(1, "h", 7, 4.0)] * starts, starts=starts), recorded(2, "h"), telling=3,
    )  # fmt: skip
    assert (told.name, told.culprits, told.at) == (name, culprits, At("g", 7, "allreduce" if starts else None))


def test_whose_device_is_at_something_else_waits_there() -> None:
    """Rank 1 is not at the call of g since it is at that of h, to which rank 2 does not come. It is called later."""
    told = verdict(
        group("g", 0, 1), group("h", 1, 2),
        recorded(0, "g", under_way(0, "g", 7, 2.0, running=True)), recorded(1, "g", under_way(1, "g", 7, 1.0)),
        recorded(1, "h", under_way(1, "h", 7, 3.0, running=True)), recorded(2, "h"), telling=3,
    )  # fmt: skip
    assert (told.name, told.culprits, told.waiting, told.at) == ("missing", {2}, {0, 1}, At("h", 7, "allreduce"))


def test_nobody_is_missed_in_a_call_that_no_device_has_come_to() -> None:
    """Ranks 0 and 1 have called it, and are at another one that the device of rank 3 does not come to."""
    told = verdict(
        group("g", 0, 1, 2), group("h", 0, 1, 3),
        *(recorded(rank, "h", under_way(rank, "h", 7, 2.0, running=True)) for rank in (0, 1)),
        *(recorded(rank, "g", under_way(rank, "g", 7, 1.0)) for rank in (0, 1)),
        recorded(2, "g"), recorded(3, "h", under_way(3, "h", 7, 1.0)), telling=4,
    )  # fmt: skip
    assert (told.name, told.culprits, told.waiting) == ("stuck", {3}, {0, 1})


@pytest.mark.parametrize(("running", "culprits"), [(True, {1}), (False, set())])
def test_a_message_that_one_end_is_at_waits_for_the_device_of_the_other(running: bool, culprits: set[int]) -> None:
    told = verdict(
        group("p", 0, 1),
        recorded(0, "p", message(0, 1, running=running)), recorded(1, "p", message(1, 0)), telling=2,
    )  # fmt: skip
    assert told.culprits == culprits


def test_a_message_that_both_ends_are_at_holds_up_neither_of_them() -> None:
    """Rank 1 is at two messages, each on a stream of its own. To the other one rank 2 has not come."""
    told = verdict(
        group("p", 0, 1, 2), recorded(0, "p", message(0, 1, running=True)),
        recorded(1, "p", message(1, 2, running=True), message(1, 0, running=True)), recorded(2, "p"), telling=3,
    )  # fmt: skip
    assert (told.name, told.culprits, told.waiting) == ("missing", {2}, {1})
