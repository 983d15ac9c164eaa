"""The words of a plan: spans, chunks, blocks, and the order of ranks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectives.schedule import (
    Fold,
    Message,
    Receive,
    Send,
    Shape,
    Span,
    Step,
    by_rank,
    chunks,
    copy,
    onwards,
    plan,
    together,
)  # fmt: skip

SPAN = Span("recv", 4, 10)


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 40))
def test_chunks_cover_a_span_and_differ_by_one_at_most(start: int, count: int, parts: int) -> None:
    pieces = chunks(Span("recv", start, start + count), parts)
    assert [piece.start for piece in pieces] + [start + count] == [start] + [piece.stop for piece in pieces]
    assert max(piece.count for piece in pieces) - min(piece.count for piece in pieces) <= 1


def test_a_span_and_its_parts() -> None:
    assert SPAN.count == 6
    assert SPAN.within(1, 3) == Span("recv", 5, 7)
    assert str(SPAN) == "recv[4:10]"


def test_the_blocks_of_a_shape() -> None:
    shape = Shape(rank=1, size=3, send_counts=(2, 0, 5), recv_counts=(1, 1, 1))
    assert [shape.send_block(i) for i in range(3)] == [Span("send", 0, 2), Span("send", 2, 2), Span("send", 2, 7)]
    assert (shape.send.count, shape.recv.count) == (7, 3)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_rank_copies_its_own_block_only_out_of_place(in_place: bool) -> None:
    shape = Shape(1, 3, (2,), (6,), in_place=in_place)
    step = copy(shape, shape.send, shape.recv.within(2, 4))
    own = Step(sends=(Send(1, (Span("send", 0, 2),)),), receives=(Receive(1, (Span("recv", 2, 4),)),))
    assert step == (Step() if in_place else own)


def test_operands_go_by_rank() -> None:
    assert by_rank(2, SPAN, [3, 0, 1]) == (Message(0), Message(1), SPAN, Message(3))


def test_onwards_starts_with_the_next() -> None:
    assert onwards(2, 5) == [3, 4, 0, 1]


@given(st.integers(1, 40))
def test_onwards_never_picks_one_target_twice_at_a_time(number: int) -> None:
    turns = list(zip(*(onwards(index, number) for index in range(number)), strict=True))
    assert all(sorted(turn) == list(range(number)) for turn in turns)
    assert len(turns) == number - 1


def test_steps_join_and_empty_ones_vanish() -> None:
    send, receive, fold = Send(1, (SPAN,)), Receive(2, (SPAN,)), Fold(SPAN, (Message(1),))
    both = together(Step(sends=(send,)), Step(receives=(receive,), folds=(fold,)))
    assert both == Step((send,), (receive,), (fold,))
    assert plan([Step(), both, Step()]).steps == (both,)
