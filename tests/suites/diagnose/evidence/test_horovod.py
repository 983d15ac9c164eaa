"""Horovod's stall inspector, in the words of three generations."""

from __future__ import annotations

from suites.diagnose.evidence.horovod import StallInspector
from suites.diagnose.facts import Absent, Fact, Level, Trouble
from tests.suites.diagnose.evidence.torch_lines import of, told

STALL = (
    "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for "
    "remainder of ranks for more than 60 seconds. This may indicate that different ranks are trying to submit "
    "different tensors or that only subset of ranks is submitting tensors, which will cause deadlock. "
)


def waits(facts: list[Fact]) -> list[tuple[list[int | None], list[int | None], str | None]]:
    """(absent, present, operation)."""
    return [
        ([who.rank for who in found.absent], [who.rank for who in found.present], found.op)
        for found in of(Absent, facts)
    ]


def test_ready_ranks_are_inverted() -> None:
    text = STALL + "Stalled ops: HorovodBroadcast_w_0 [ready ranks: 1, 3], HorovodAllreduce_g [ready ranks: 0, 1, 2]"
    assert waits(told(StallInspector(), text)) == [([0, 2], [1, 3], "broadcast"), ([3], [0, 1, 2], "allreduce")]


def test_missing_ranks_of_a_tensor() -> None:
    text = STALL + "\nStalled ops:\nHorovodAllgather_x [missing ranks: 2]\nHorovodAllreduce_g [missing ranks: 0, 3]"
    assert waits(told(StallInspector(), text)) == [([2], [0, 1, 3], "allgather"), ([0, 3], [1, 2], "allreduce")]


def test_a_table_by_rank() -> None:
    for head in ("Missing ranks:", "Stalled ranks:"):
        text = STALL + f"\n{head}\n0: [HorovodAllreduce_a, HorovodAllreduce_b]\n3!: [HorovodBroadcast_c]\nnext line"
        assert waits(told(StallInspector(), text)) == [([0], [1, 2, 3], "allreduce"), ([3], [0, 1, 2], "broadcast")]


def test_ranks_of_a_table_that_miss_the_same_tensor_do_not_wait_for_each_other() -> None:
    text = STALL + "\nMissing ranks:\n1: [HorovodAllreduce_a]\n2: [HorovodAllreduce_a, HorovodAllreduce_b]"
    assert waits(told(StallInspector(), text)) == [([1], [0], "allreduce"), ([2], [0], "allreduce")]


def test_rank_0_says_so_and_what_it_repeats_is_one() -> None:
    text = "\n".join([STALL + "\nMissing ranks:\n1: [HorovodAllreduce_a]"] * 5)
    facts = told(StallInspector(), text)
    (absent,) = of(Absent, facts)
    assert absent.by.rank == 0
    assert {trouble.level for trouble in of(Trouble, facts)} == {Level.TIMEOUT}


def test_rows_are_nothing_without_their_head() -> None:
    assert not told(StallInspector(), "1: [HorovodAllreduce_a]")
