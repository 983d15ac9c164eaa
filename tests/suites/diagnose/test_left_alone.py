"""Who does not come out of a call that others are through: its device is stuck, or nothing more of it was recorded."""

from __future__ import annotations

import pytest

from suites.diagnose.facts import Call, Place, Raised, Signature, Track, Who
from suites.diagnose.verdict import At, Verdict
from tests.suites.diagnose.telling import group, verdict


def under_way(rank: int, of: str, seq: int, at: float, op: str = "allreduce") -> Call:
    return Call(Who(rank), Place(f"{rank}.dump"), of, seq, Signature(op), "pending", entered=at)


def receiving(rank: int, peer: int, at: float) -> Call:
    return Call(Who(rank), Place(f"{rank}.dump"), "p", None, Signature("recv"), "pending", Who(peer), entered=at)


def recorded(rank: int, of: str, enqueued: int, completed: int, *pending: Call, failures_end: bool = False) -> Track:
    who, place = Who(rank), Place(f"{rank}.dump")
    return Track(who, place, of, enqueued, None, completed, pending, failures_end=failures_end)


def said(*, called: int, op: str = "allreduce", failures_end: bool = False) -> Verdict:
    """Rank 1 is in a message, and in call 7 of g, that the others are through. Call 3 of w is what they wait in."""
    waited_in = (under_way(1, "w", 3, 3.0),) if called == 3 else ()
    return verdict(
        group("g", 0, 1, 2), group("w", 0, 1, 2), group("p", 0, 1),
        *(recorded(rank, "g", 7, 7, failures_end=failures_end) for rank in (0, 2)),
        *(recorded(rank, "w", 3, 2, under_way(rank, "w", 3, 4.0)) for rank in (0, 2)),
        recorded(1, "p", 0, 0, receiving(1, 0, 1.0)), recorded(1, "g", 7, 6, under_way(1, "g", 7, 2.0, op)),
        recorded(1, "w", called, 2, *waited_in),
        telling=3,
    )  # fmt: skip


@pytest.mark.parametrize("called", [2, 3])
def test_a_message_that_it_seems_to_wait_in_may_be_over_too(called: int) -> None:
    """The other end has it behind itself: only what is under way was recorded."""
    told = said(called=called)
    assert (told.name, told.culprits, told.at) == ("stuck", {1}, At("g", 7, "allreduce"))


@pytest.mark.parametrize(("op", "failures_end"), [("broadcast", False), ("allreduce", True)])
def test_not_in_a_call_that_others_may_leave_before_it_comes(op: str, failures_end: bool) -> None:
    assert said(called=2, op=op, failures_end=failures_end).name == "cycle"


@pytest.mark.parametrize(("instant", "culprits"), [(True, {1}), (False, {0, 1})])
def test_who_was_about_to_leave_it_when_another_one_broke_is_not_at_fault(instant: bool, culprits: set[int]) -> None:
    """Rank 1 has failed between calls 7 and 8. Rank 2 is in 8 already, and rank 0 still in 7."""

    def track(rank: int, called: int, done: int, *pending: Call) -> Track:
        return Track(Who(rank), Place(f"{rank}.ring"), "g", called, None, done, pending, exact=True, instant=instant)

    told = verdict(
        group("g", 0, 1, 2),
        track(0, 7, 6, under_way(0, "g", 7, 1.0)), track(1, 7, 7), track(2, 8, 7, under_way(2, "g", 8, 2.0)),
        Raised(Who(1), Place("1.out", 3), "ValueError", "a bad batch"),
        telling=3,
    )  # fmt: skip
    assert (told.name, told.culprits) == ("crashed", culprits)
