"""The picture of a plan: each kind of message, each kind of label, and nothing wider than a terminal."""

from __future__ import annotations

import pytest

from collectives.algorithms import ALGORITHMS, Algorithm
from collectives.ops import COLLECTIVES
from collectives.simulate import Delivery, simulate
from collectives.symbolic import Value
from opsdist_cli.output.plan import drawing
from tests.collectives.plans import equal_groups, made, shapes_of

ROWS = [row for rows in ALGORITHMS.values() for row in rows.values()]


def drawn(collective: str, name: str, size: int, count: int = 16) -> list[str]:
    row = ALGORITHMS[collective][name]
    groups = equal_groups(size, 2) if name == "hierarchical" else ()
    shapes = shapes_of(row, size, count, groups=groups)
    deliveries: list[Delivery] = []
    simulate(made(row, shapes), COLLECTIVES[collective], shapes, count, observe=deliveries.append)
    return drawing(deliveries, reduces=COLLECTIVES[collective].reduces)


def test_one_sender_and_label_is_one_arrow_to_many() -> None:
    assert drawn("allreduce", "linear", 3) == [
        "  step 0   fold   1 -a-> 0   2 -a-> 0",
        "  step 1   store  0 -A-> 1 2",
        "  a is the whole buffer; 2a is a folded over 2 ranks so far, A over all.",
    ]


def test_a_push_stands_below_the_fold_it_follows() -> None:
    assert drawn("allreduce", "two_shot", 2)[:2] == [
        "  step 0   fold   0 -b-> 1   1 -a-> 0",
        "           push   0 -A-> 1   1 -B-> 0",
    ]


def test_partial_sums_tell_how_many_ranks_are_in() -> None:
    assert drawn("allreduce", "halving_doubling", 4)[:3] == [
        "  step 0   fold   0 -cd-> 2   1 -cd-> 3   2 -ab-> 0   3 -ab-> 1",
        "  step 1   fold   0 -2b-> 1   1 -2a-> 0   2 -2d-> 3   3 -2c-> 2",
        "  step 2   store  0 -A-> 1   1 -B-> 0   2 -C-> 3   3 -D-> 2",
    ]


def test_whole_blocks_are_named_by_their_rank() -> None:
    assert drawn("allgather", "bruck", 3) == [
        "  step 0   copy   rank 0-2: its own part",
        "           store  0 -[0]-> 2   1 -[1]-> 0   2 -[2]-> 1",
        "  step 1   store  0 -[0]-> 1   1 -[1]-> 2   2 -[2]-> 0",
        "  in brackets, the ranks whose blocks are sent.",
    ]


def test_blocks_of_others_bear_their_rank() -> None:
    assert drawn("alltoall", "bruck", 4)[2] == "  step 1   store  0 -c,3c-> 2   1 -d,0d-> 3   2 -a,1a-> 0   3 -b,2b-> 1"


def test_steps_are_those_of_the_whole_and_ranks_may_count_fewer() -> None:
    assert drawn("broadcast", "tree", 5) == [
        "  step 0   copy   rank 0: its own part",
        "           store  0 -a-> 4",
        "  step 1   store  0 -a-> 2",
        "  step 2   store  0 -a-> 1   2 -a-> 3",
        "  a is the whole buffer; a rank itself counts only the steps it takes part in.",
    ]


def test_empty_messages_have_no_label() -> None:
    assert drawn("barrier", "dissemination", 2) == [
        "  step 0   store  0 --> 1   1 --> 0",
        "  the messages are empty.",
    ]


def test_many_chunks_are_a_range_and_more_than_the_alphabet_are_numbers() -> None:
    everything = Delivery(0, 0, 1, 0, (Value(30, 1, 0, False),), after=False, folded=True)
    parts = [Delivery(1, 1, 0, 1, (Value(1, 2, i, False),), after=False, folded=True) for i in range(30)]
    assert drawing([everything, *parts[:5]], reduces=True)[0].endswith(" 0 -a..f-> 1")
    assert drawing([everything, *parts], reduces=True)[0].endswith(" 0 -[0-29]-> 1")


def test_nothing_moves() -> None:
    assert drawn("barrier", "linear", 1) == ["  Nothing moves."]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.collective}-{row.name}")
def test_no_line_is_wider_than_a_terminal(row: Algorithm) -> None:
    assert all(len(line) < 100 for line in drawn(row.collective, row.name, 8))
