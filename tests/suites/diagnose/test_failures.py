"""Recordings that tell of a failed call only that it is over: who left one is no culprit for not coming to the next."""

from __future__ import annotations

from suites.diagnose.case import case_of
from suites.diagnose.facts import Call, Fact, Group, Place, Signature, Track, Who
from suites.diagnose.judge import judge
from suites.diagnose.verdict import Verdict


def track(
    rank: int, group: str, seq: int, at: float, op: str = "allreduce", *, ends: bool, loose: bool = True
) -> Track:
    """The last call of a rank in a group, which is over or not; earlier ones are over."""
    place = Place(f"rank_{rank}")
    last = Call(Who(rank), place, group, seq, Signature(op), "done" if ends else "pending", entered=at)
    history = tuple((number, Signature(op)) for number in range(1, seq + 1))
    pending = () if ends else (last,)
    return Track(
        Who(rank), place, group, seq, None, seq if ends else seq - 1, pending, history=history, latest=(last,),
        failures_end=loose,
    )  # fmt: skip


def verdict(*facts: Fact) -> Verdict:
    return judge(case_of(facts))


def one_has_died(*, loose: bool) -> list[Fact]:
    """Rank 3, which was in a row with rank 2 and is heard no more. Rank 2 left their call, and did not come to that of
    its column, in which rank 0 is; ranks 1 and 0 are in one of theirs."""
    return [
        track(0, "row", 4, 1.0, ends=True, loose=loose), track(0, "column", 5, 2.0, ends=False, loose=loose),
        track(1, "row", 4, 1.0, ends=True, loose=loose), track(1, "other column", 5, 2.0, ends=False, loose=loose),
        track(2, "other row", 4, 1.0, ends=True, loose=loose), track(2, "column", 4, 0.5, ends=True, loose=loose),
        track(4, "0", 1, 0.1, ends=True, loose=loose),
    ]  # fmt: skip


def test_who_left_a_call_that_nobody_has_gone_on_from_may_have_left_a_failed_one() -> None:
    told = verdict(*one_has_died(loose=True))
    assert (told.name, told.culprits) == ("undecided", frozenset())
    assert {2, 3} <= told.suspects


def test_where_failed_calls_are_told_as_such_who_does_not_come_is_missing() -> None:
    told = verdict(*one_has_died(loose=False))
    assert (told.name, told.culprits) == ("missing", {2})


def test_a_call_that_others_went_on_from_has_not_failed() -> None:
    went_on = [track(3, "other row", 4, 1.0, ends=True), track(3, "other column", 5, 2.0, ends=False)]
    told = verdict(*one_has_died(loose=True), *went_on)
    assert (told.name, told.culprits) == ("missing", {2})


def test_who_is_in_a_call_that_was_left_by_failure_is_not_stuck() -> None:
    """Rank 1 is where rank 0 has left, and rank 3 waits for it elsewhere; rank 2 is heard no more."""
    left = [track(0, "g", 4, 1.0, ends=True), track(1, "g", 4, 1.0, ends=False)]
    waits = [track(1, "h", 5, 0.5, ends=True), track(3, "h", 6, 2.0, ends=False), track(3, "0", 1, 0.1, ends=True)]
    told = verdict(*left, *waits)
    assert (told.name, told.culprits) == ("undecided", frozenset())
    assert {1, 2} <= told.suspects


def test_a_broadcast_that_some_come_out_of_may_wait_for_somebody_unheard() -> None:
    """It goes from rank to rank: that ranks 0 and 3 are through does not show that rank 2 has been there."""

    def told(op: str) -> Verdict:
        there = [track(rank, "g", 4, 1.0, op, ends=rank != 1) for rank in (0, 1, 3)]
        waits = [track(rank, "h", 6, 2.0, ends=False) for rank in (0, 3)]
        return verdict(*there, *waits, track(1, "h", 5, 0.5, ends=True), track(3, "0", 1, 0.1, ends=True))

    assert (told("broadcast").name, told("broadcast").culprits) == ("undecided", frozenset())
    assert {1, 2} <= told("broadcast").suspects
    assert (told("allreduce").name, told("allreduce").culprits) == ("stuck", {1})


def test_a_broadcast_of_a_group_that_nothing_lists_may_wait_for_a_rank_above_all_that_are_heard() -> None:
    """That ranks 0 and 2 are through does not show that all have been there: of rank 3 nothing is known at all."""

    def told(op: str, *, loose: bool) -> Verdict:
        there = [track(rank, "g", 4, 1.0, op, ends=rank != 1, loose=loose) for rank in range(3)]
        waits = [track(rank, "h", 6 if rank != 1 else 5, 2.0, ends=rank == 1, loose=loose) for rank in range(3)]
        return verdict(*there, *waits)

    assert (told("broadcast", loose=True).name, told("broadcast", loose=True).culprits) == ("undecided", frozenset())
    assert told("broadcast", loose=False).culprits == {1}
    assert told("allreduce", loose=True).culprits == {1}


def test_who_went_on_only_with_what_was_begun_together_may_have_left_a_failed_call() -> None:
    """Rank 2 is in a call of its row that ranks 0 and 1 are through, and in one of all that was begun after it: so may
    theirs have been, before the one of the row failed. Rank 3 is heard no more."""

    def told(last: int) -> Verdict:
        row = [track(rank, "row", 4, 1.0, ends=rank != 2) for rank in range(3)]
        everybody = Group("0", Place("rank_0"), size=5)
        return verdict(
            everybody, *row, *(track(rank, "0", 6 if rank == 2 else last, 2.0, ends=False) for rank in (0, 1, 2, 4))
        )

    assert (told(6).name, told(6).culprits) == ("undecided", frozenset())
    assert {2, 3} <= told(6).suspects
    assert told(7).culprits == {2}


def test_ranks_that_wait_for_each_other_are_suspects_where_one_of_them_may_wait_for_somebody_unheard() -> None:
    """Ranks 1 and 2 are in different calls of groups of both, and rank 2 is in one before that to which rank 0, that
    nothing is seen of, may not have come."""
    first = [track(1, "one", 5, 1.0, ends=False), track(2, "one", 4, 0.5, ends=True)]
    second = [track(2, "two", 6, 1.0, ends=False), track(1, "two", 5, 0.6, ends=True)]
    told = verdict(*first, *second, track(2, "three", 4, 0.9, ends=False), track(3, "0", 1, 0.1, ends=True))
    assert (told.name, told.culprits) == ("undecided", frozenset())
    assert {0, 1, 2} <= told.suspects


def test_who_may_have_left_by_failure_is_not_said_to_wait() -> None:
    told = verdict(*(track(rank, "0", 3, 1.0, ends=True) for rank in (1, 2)), track(3, "row", 4, 2.0, ends=True))
    assert told.explanation == (
        "ranks 1-3 may have left the last call because it failed, and nothing tells on whom: there is no evidence of "
        "rank 0"
    )


def test_a_call_of_a_group_that_nothing_lists_is_not_joined_while_somebody_is_not_heard() -> None:
    """Ranks 2 and 4 are in it, and rank 0 may be of their group."""
    told = verdict(*(track(rank, "column", 3, 1.0, ends=False) for rank in (2, 4)), track(4, "0", 1, 0.1, ends=True))
    assert (told.name, told.culprits) == ("undecided", frozenset())
    assert 0 in told.suspects
