"""Each rule of the step model: a plan that breaks it is refused in words that name rank and step, and its neighbour,
which differs in nothing but the rule, is proven."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from collectives.errors import PlanError
from collectives.schedule import Fold, Message, Receive, Send, Span, Step
from tests.collectives.plans import copy, prove, r, s, step, x

BOTH, RESULT = s(0, 2), r(0, 2)


def refused(
    words: str, collective: str, count: int, *ranks: Sequence[Step], scratch: int = 0, in_place: bool = False
) -> None:
    with pytest.raises(PlanError, match=re.escape(words)):
        prove(collective, count, *ranks, scratch=scratch, in_place=in_place)


def swap(*, send: Span = BOTH, receive: Span = RESULT) -> list[list[Step]]:
    """Two ranks send each other everything (sendrecv)."""
    return [[step(Send(1 - rank, (send,)), Receive(1 - rank, (receive,)))] for rank in (0, 1)]


def exchange(*, last: bool = True, into: Span = RESULT) -> list[list[Step]]:
    """Two ranks fold each other's buffer (allreduce)."""
    return [
        [step(Send(1, (BOTH,)), Fold(into, (BOTH, Message(1)), last))],
        [step(Send(0, (BOTH,)), Fold(into, (Message(0), BOTH), last))],
    ]


def two_shot(*, push: tuple[Span, ...] = (r(0, 1),)) -> list[list[Step]]:
    """Two ranks fold a chunk each and push it (allreduce of two elements); `push` is what rank 0 pushes."""
    return [
        [
            step(
                Send(1, (s(1, 2),)), Fold(r(0, 1), (s(0, 1), Message(1)), True),
                Send(1, push, after=True), Receive(1, (r(1, 2),)),
            )
        ],
        [
            step(
                Send(0, (s(0, 1),)), Fold(r(1, 2), (Message(0), s(1, 2)), True),
                Send(0, (r(1, 2),), after=True), Receive(0, (r(0, 1),)),
            )
        ],
    ]  # fmt: skip


# Rule 1: first in, first out.


def halves(first: Span, second: Span) -> list[list[Step]]:
    """Two ranks send each other two elements in two steps, and store them in `first` and `second`."""
    return [
        [
            step(Send(1 - rank, (s(0, 1),)), Receive(1 - rank, (first,))),
            step(Send(1 - rank, (s(1, 2),)), Receive(1 - rank, (second,))),
        ]
        for rank in (0, 1)
    ]


def test_messages_match_in_order() -> None:
    assert prove("sendrecv", 2, *halves(r(0, 1), r(1, 2))).steps == 2
    refused("rank 0 ends with a wrong receive buffer from element 0 on: it holds source element 1, not 0",
            "sendrecv", 2, *halves(r(1, 2), r(0, 1)))  # fmt: skip


def test_lengths_match() -> None:
    prove("sendrecv", 2, *swap())
    refused("rank 0 in step 0 expects 2 elements from rank 1, which sends 1", "sendrecv", 2, *swap(send=s(0, 1)))


def test_a_fold_takes_the_first_message_and_a_receive_the_second() -> None:
    assert prove("allreduce", 2, *two_shot()).sent == (2, 2)
    swapped = two_shot()
    (only,) = swapped[0]
    swapped[0] = [Step(sends=only.sends[::-1], receives=only.receives, folds=only.folds)]
    refused("rank 0 in step 0 sends rank 1 more than one plain and then one `after`", "allreduce", 2, *swapped)


# Rule 2: no buffering.


def test_send_then_receive_on_both_ranks_is_a_deadlock() -> None:
    apart = [[step(Send(1 - rank, (BOTH,))), step(Receive(1 - rank, (r(0, 2),)))] for rank in (0, 1)]
    refused("deadlock: rank 0 waits for rank 1 in step 0; rank 1 waits for rank 0 in step 0", "sendrecv", 2, *apart)
    prove("sendrecv", 2, apart[0], apart[1][::-1])


def test_a_deadlock_names_who_waits_for_whom() -> None:
    ring = [[step(Send((rank + 1) % 3, (BOTH,)), Receive((rank - 1) % 3, (r(0, 2),)))] for rank in range(3)]
    prove("sendrecv", 2, *ring)
    refused("deadlock: rank 0 waits for rank 2 in step 0; rank 1 waits for rank 2 in step 0",
            "sendrecv", 2, ring[0], ring[1], [])  # fmt: skip


def test_a_message_too_many_is_a_deadlock() -> None:
    plans = swap()
    refused("deadlock: rank 0 waits for rank 1 in step 1", "sendrecv", 2, [*plans[0], step(Send(1, ()))], plans[1])


# Rule 3: no target overlaps a send, an operand or another target.


def test_a_receive_may_not_overwrite_a_send() -> None:
    def ring(target: Span, *more: Step) -> list[list[Step]]:
        return [
            [copy(k, BOTH, r(0, 2)), step(Send((k + 1) % 3, (r(0, 2),)), Receive((k - 1) % 3, (target,))),
             *([copy(k, target, r(0, 2))] if target.buffer == "scratch" else [])]
            for k in range(3)
        ]  # fmt: skip

    prove("sendrecv", 2, *ring(x(0, 2)), scratch=2)
    refused("rank 0 in step 1 overwrites by the message from rank 2 (recv[0:2]) what the message to rank 1 (recv[0:2])",
            "sendrecv", 2, *ring(r(0, 2)))  # fmt: skip
    refused("rank 0 in step 1 overwrites by the message from rank 2 (recv[1:2])", "sendrecv", 2, *ring(r(1, 2)))


def test_a_fold_may_not_overwrite_a_send() -> None:
    via_scratch = [[*steps, copy(k, x(0, 2), r(0, 2))] for k, steps in enumerate(exchange(into=x(0, 2)))]
    prove("allreduce", 2, *via_scratch, scratch=2, in_place=True)
    prove("allreduce", 2, *exchange())
    refused("rank 0 in step 0 overwrites by the fold into recv[0:2] what the message to rank 1 (send[0:2]) reads",
            "allreduce", 2, *exchange(), in_place=True)  # fmt: skip


def test_a_receive_may_not_overwrite_an_operand() -> None:
    def plans(copied: Span) -> list[list[Step]]:
        """Rank 0 copies its buffer beside, or onto, what a fold reads."""
        first = [copy(0, BOTH, x(0, 2)), step(Send(1, (BOTH,)), Fold(r(0, 2), (x(0, 2), Message(1)), True),
                                              Send(0, (s(0, 1),)), Receive(0, (copied,)))]  # fmt: skip
        return [first, exchange()[1]]

    prove("allreduce", 2, *plans(x(2, 3)), scratch=3)
    refused("rank 0 in step 1 overwrites by the message from rank 0 (scratch[1:2]) what the fold into recv[0:2] reads",
            "allreduce", 2, *plans(x(1, 2)), scratch=3)  # fmt: skip


def test_a_local_copy_may_not_overwrite_its_source() -> None:
    def plans(source: Span, target: Span) -> list[list[Step]]:
        return [[copy(0, BOTH, x(0, 2)), copy(0, source, target), copy(0, target, r(0, 2))]]

    prove("allreduce", 2, *plans(x(0, 2), x(2, 4)), scratch=4)
    refused("rank 0 in step 1 overwrites by the message from rank 0 (scratch[1:3]) what the message to rank 0",
            "allreduce", 2, *plans(x(0, 2), x(1, 3)), scratch=4)  # fmt: skip


def test_two_targets_may_not_overlap() -> None:
    def plans(place: Span) -> list[list[Step]]:
        root = step(Send(0, (BOTH,)), Receive(0, (r(0, 2),)), Receive(1, (place,)))
        return [[root], [step(Send(0, (BOTH,)))]]

    prove("gather", 2, *plans(r(2, 4)))
    refused("rank 0 in step 0 has targets that overlap: the message from rank 0 (recv[0:2]) and the message from rank 1"
            " (recv[1:3])", "gather", 2, *plans(r(1, 3)))  # fmt: skip


def test_a_fold_and_another_target_may_not_overlap() -> None:
    def plans(other: Fold) -> list[list[Step]]:
        (first,), second = exchange()
        return [[Step(sends=first.sends, folds=(*first.folds, other))], second]

    prove("allreduce", 2, *plans(Fold(x(0, 2), (BOTH,))), scratch=2)
    refused("rank 0 in step 0 has targets that overlap: the fold into recv[0:2] and the fold into recv[1:2]",
            "allreduce", 2, *plans(Fold(r(1, 2), (s(1, 2),))))  # fmt: skip


def test_a_fold_may_replace_an_operand_but_not_a_part_of_one() -> None:
    def plans(into: Span) -> list[list[Step]]:
        fold = Fold(into, (x(0, 2), Message(1)), True)
        first = [copy(0, BOTH, x(0, 2)), step(Send(1, (BOTH,)), fold), copy(0, into, r(0, 2))]
        return [first, exchange()[1]]

    prove("allreduce", 2, *plans(x(0, 2)), scratch=4)
    prove("allreduce", 2, *plans(x(2, 4)), scratch=4)
    refused("rank 0 in step 1 folds into a part of an operand of the fold into scratch[1:3]",
            "allreduce", 2, *plans(x(1, 3)), scratch=4)  # fmt: skip


def test_a_push_may_overwrite_what_fed_its_own_fold() -> None:
    prove("allreduce", 2, *two_shot(), in_place=True)


def test_another_message_may_not_overwrite_what_is_sent() -> None:
    """Rank 0 sends what it has, and rank 1's answer comes over it, in the next step or in the same."""
    start, send, receive = copy(0, BOTH, r(0, 2)), Send(1, (r(0, 2),)), Receive(1, (r(0, 2),))
    keep, answer, finish = Receive(0, (x(0, 2),)), Send(0, (BOTH,)), copy(1, x(0, 2), r(0, 2))
    prove("sendrecv", 2, [start, step(send), step(receive)], [step(keep), step(answer), finish], scratch=2)
    refused("rank 0 in step 1 receives from rank 1 over what it sends in that step",
            "sendrecv", 2, [start, step(send, receive)], [step(keep, answer), finish], scratch=2)  # fmt: skip


@pytest.mark.parametrize(
    "other", [Fold(x(0, 1), (s(0, 1),)), Fold(x(0, 1), (Message(0),))], ids=["fed by none", "fed by a later message"]
)
def test_the_push_of_another_fold_may_not_overwrite_what_is_sent(other: Fold) -> None:
    """Rank 0 sends s[1:2] for rank 1's first fold, and the push of its second comes back onto it."""
    (first,), (second,) = two_shot()
    unfinished = Step(first.sends, first.receives, (replace(first.folds[0], last=False),))
    pushing_other = Step(sends=(second.sends[0], Send(0, (x(0, 1),), after=True)), folds=(*second.folds, other))
    refused("rank 0 in step 0 receives from rank 1 over what it sends in that step; only the push of the fold that",
            "allreduce", 2, [unfinished], [pushing_other], scratch=1, in_place=True)  # fmt: skip


# Rule 4: an `after` send.


def test_after_needs_a_fold() -> None:
    refused(
        "rank 0 in step 0 sends `after` what no fold of the step produces", "allreduce", 2, *two_shot(push=(RESULT,))
    )
    refused("rank 0 in step 0 sends `after` what no fold of the step produces",
            "sendrecv", 2, [step(Send(1, (BOTH,), after=True), Receive(1, (r(0, 2),)))], swap()[1])  # fmt: skip


def test_after_has_one_span() -> None:
    refused("rank 0 in step 0 sends `after` what no fold of the step produces",
            "allreduce", 2, *two_shot(push=(r(0, 1), r(1, 1))))  # fmt: skip


def test_a_push_waits_for_its_own_fold_only() -> None:
    """Each of ranks 0 and 1 finishes a chunk that the other pushes after folding its own share with rank 2's: were a
    push to wait for all folds of its step, they would wait for each other."""

    def middle(mine: int, peer: int) -> list[Step]:
        own, other = s(mine, mine + 1), s(peer, peer + 1)
        operands = (own, Message(peer)) if mine < peer else (Message(peer), own)
        final = r(mine, mine + 1)
        return [
            step(
                Fold(x(0, 1), (other, Message(2))), Send(peer, (x(0, 1),), after=True), Fold(final, operands, True)
            ),
            step(Send(peer, (final,)), Send(2, (final,)), Receive(peer, (r(peer, peer + 1),))),
        ]  # fmt: skip

    last = [step(Send(1, (s(0, 1),)), Send(0, (s(1, 2),))), step(Receive(0, (r(0, 1),)), Receive(1, (r(1, 2),)))]
    prove("allreduce", 2, middle(0, 1), middle(1, 0), last, scratch=1)


# Rule 5: one plain and one `after` message.


def test_one_plain_message_a_pair_and_step() -> None:
    two = [
        [step(*(Send(1 - k, (s(i, i + 1),)) for i in (0, 1)), *(Receive(1 - k, (r(i, i + 1),)) for i in (0, 1)))]
        for k in (0, 1)
    ]
    one = [[step(Send(1 - k, (s(0, 1), s(1, 2))), Receive(1 - k, (r(0, 1), r(1, 2))))] for k in (0, 1)]
    prove("sendrecv", 2, *one)
    refused("rank 0 in step 0 sends rank 1 more than one plain", "sendrecv", 2, *two)


def test_a_fold_takes_one_message_of_a_peer_and_none_of_its_own() -> None:
    (first,), second = exchange()
    twice = Fold(r(0, 2), (BOTH, Message(1), Message(1)), True)
    refused("rank 0 in step 0 folds into recv[0:2] its own message, or two of one peer",
            "allreduce", 2, [Step(sends=first.sends, folds=(twice,))], second)  # fmt: skip
    own = Fold(r(0, 2), (Message(0), Message(1)), True)
    refused("rank 0 in step 0 folds into recv[0:2] its own message, or two of one peer",
            "allreduce", 2, [Step(sends=(*first.sends, Send(0, (BOTH,))), folds=(own,))], second)  # fmt: skip


# Rule 6: empty messages are real.


def test_an_empty_message_must_match() -> None:
    token = [[step(Send(1 - rank, ()), Receive(1 - rank, ()))] for rank in (0, 1)]
    assert prove("barrier", 0, *token).wire == 0
    refused("deadlock: rank 0 waits for rank 1 in step 0", "barrier", 0, token[0], [step(Send(0, ()))])


# Rule 7: buffers.


def test_the_send_buffer_is_written_in_place_only() -> None:
    plans = [
        [step(Fold(BOTH, (BOTH, Message(1)), True)), step(Send(1, (BOTH,)))],
        [step(Send(0, (BOTH,))), step(Receive(0, (r(0, 2),)))],
    ]
    prove("allreduce", 2, *plans, in_place=True)
    refused("rank 0 in step 0 writes the send buffer", "allreduce", 2, *plans)


def test_nothing_unwritten_is_read() -> None:
    forwarded = [[copy(k, BOTH, x(0, 2)), *swap(send=x(0, 2))[k]] for k in (0, 1)]
    prove("sendrecv", 2, *forwarded, scratch=2)
    refused("rank 1 in step 0 reads scratch[0:2], parts of which were never written",
            "sendrecv", 2, *swap(send=x(0, 2)), scratch=2)  # fmt: skip
    half = [[copy(k, s(0, 1), x(0, 1)), *swap(send=x(0, 2))[k]] for k in (0, 1)]
    refused("rank 1 in step 1 reads scratch[0:2]", "sendrecv", 2, *half, scratch=2)


@pytest.mark.parametrize("span", [r(0, 3), r(-1, 1), r(2, 1), x(0, 2)], ids=str)
def test_nothing_outside_a_buffer_is_touched(span: Span) -> None:
    refused(f"rank 0 in step 0 touches {span} outside its buffer of", "sendrecv", 2, *swap(receive=span), scratch=1)


@pytest.mark.parametrize("peer", [2, -1])
@pytest.mark.parametrize("part", [Send, Receive])
def test_peers_are_ranks_of_the_world(peer: int, part: type[Send] | type[Receive]) -> None:
    refused(f"rank 0 in step 0 names rank {peer} in a world of 2", "sendrecv", 2, [step(part(peer, ()))], swap()[1])
    refused(f"rank 0 in step 0 names rank {peer} in a world of 2",
            "sendrecv", 2, [step(Fold(r(0, 2), (Message(peer),)))], swap()[1])  # fmt: skip


# What a fold may combine.


def test_a_contribution_is_folded_once() -> None:
    again = [step(Fold(x(0, 2), (BOTH, BOTH)))]
    refused("rank 0 in step 0 folds a contribution twice into scratch[0:2]",
            "allreduce", 2, again, exchange()[1], scratch=2)  # fmt: skip
    prove("allreduce", 2, *exchange())
    # Both hold the sum of both already, and fold it into each other's.
    sums = exchange(last=False, into=x(0, 2))
    more = [step(Send(1 - k, (x(0, 2),)), Fold(r(0, 2), (x(0, 2), Message(1 - k)), True)) for k in (0, 1)]
    refused("rank 0 in step 1 folds a contribution twice into recv[0:2]", "allreduce", 2,
            [*sums[0], more[0]], [*sums[1], more[1]], scratch=2)  # fmt: skip


def test_only_equal_indices_are_folded() -> None:
    reversed_ = Send(1, (s(1, 2), s(0, 1)))
    (first,), second = exchange()
    refused("rank 1 in step 0 folds elements of different indices into recv[0:2]",
            "allreduce", 2, [Step(sends=(reversed_,), folds=first.folds)], second)  # fmt: skip


def test_operands_have_one_length() -> None:
    refused("rank 0 in step 0 folds spans of different lengths into recv[0:2]",
            "allreduce", 2, [step(Fold(r(0, 2), (s(0, 1), Message(1)), True))], [step(Send(0, (BOTH,)))])  # fmt: skip
    refused("rank 0 in step 0 expects 2 elements from rank 1, which sends 1",
            "allreduce", 2, [step(Fold(r(0, 2), (BOTH, Message(1)), True))], [step(Send(0, (s(0, 1),)))])  # fmt: skip


def test_a_fold_has_operands() -> None:
    refused("rank 0 in step 0 folds nothing into recv[0:2]", "allreduce", 2, [step(Fold(r(0, 2), ()))], exchange()[1])


# The result.


def test_the_completing_fold_is_marked() -> None:
    prove("allreduce", 2, *exchange())
    refused("rank 0 ends with a wrong receive buffer from element 0 on: no fold, or the wrong one, was marked as the",
            "allreduce", 2, *exchange(last=False))  # fmt: skip


def chain(*, first_is_last: bool) -> list[list[Step]]:
    """Rank 0 folds the buffers of ranks 1 and 2, one after the other (reduce)."""
    root = [
        step(Fold(r(0, 2), (BOTH, Message(1)), first_is_last)),
        step(Fold(r(0, 2), (r(0, 2), Message(2)), True)),
    ]
    return [root, [step(Send(0, (BOTH,)))], [step(Send(0, (BOTH,)))]]


def test_what_is_complete_is_not_folded_further() -> None:
    prove("reduce", 2, *chain(first_is_last=False))
    refused("rank 0 in step 1 folds into recv[0:2] what an earlier fold was the last of",
            "reduce", 2, *chain(first_is_last=True))  # fmt: skip


def test_every_contribution_is_wanted() -> None:
    root, one, _ = chain(first_is_last=True)
    refused("rank 0 ends with a wrong receive buffer from element 0 on: it holds the contributions of ranks [0, 1], not"
            " [0, 1, 2]", "reduce", 2, root[:1], one, [])  # fmt: skip


def test_the_receive_buffer_is_filled() -> None:
    refused("rank 0 ends with a receive buffer that was not filled", "sendrecv", 2, [], [])
    part = [[step(Send(1 - k, (s(0, 1),)), Receive(1 - k, (r(0, 1),)))] for k in (0, 1)]
    refused("rank 0 ends with a receive buffer that was not filled", "sendrecv", 2, *part)


def test_results_lie_where_they_belong() -> None:
    """Blocks swapped: the right data in the wrong places."""

    def root(mine: Span, other: Span) -> list[Step]:
        return [step(Send(0, (BOTH,)), Receive(0, (mine,)), Receive(1, (other,)))]

    leaf = [step(Send(0, (BOTH,)))]
    prove("gather", 2, root(r(0, 2), r(2, 4)), leaf)
    refused("rank 0 ends with a wrong receive buffer from element 0 on: it holds the contributions of ranks [1], not "
            "[0]", "gather", 2, root(r(2, 4), r(0, 2)), leaf)  # fmt: skip


def test_the_message_says_from_which_element_on() -> None:
    halves_ = [[step(Send(1 - k, (s(0, 1), s(0, 1))), Receive(1 - k, (r(0, 2),)))] for k in (0, 1)]
    refused("from element 1 on: it holds source element 0, not 1", "sendrecv", 2, *halves_)
