"""The time of plans: closed forms equal the timed plans, and every rule of the model shows in a hand-made plan."""

from __future__ import annotations

import pytest

from collectives.algorithms import ALGORITHMS, Algorithm
from collectives.cost import CLOSED, SIMULATED, Link, Network, grouped, predict, seconds_of, uniform
from collectives.errors import PlanError, UsageError
from collectives.schedule import Fold, Message, Plan, Receive, Send, Step
from tests.collectives.plans import copy, equal_groups, groupings, made, r, s, shapes_of, step, x

ROWS = [row for rows in ALGORITHMS.values() for row in rows.values()]
LATENCY, BANDWIDTH = uniform(Link(alpha=1, beta=0)), uniform(Link(alpha=0, beta=1))
BOUNDS = {"alltoallv direct": (1.0, 1.4), "alltoallv pairwise": (0.9, 1.0)}
"""Rows with unequal loads, whose path is a bound: between which multiples of it the timed plans lie."""

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.collective}-{row.name}")


@each_row
def test_closed_forms_are_the_time_of_the_plans(row: Algorithm) -> None:
    low, high = BOUNDS.get(f"{row.collective} {row.name}", (1.0, 1.0))
    for size in range(1, 18):
        count = size * max(size - 1, 1) * 16 * (size + 1)  # all kinds of chunks are whole
        for groups in groupings(row, size):
            shapes = shapes_of(row, size, count, groups=groups)
            if row.unmet(shapes[0]):
                continue
            closed = row.closed(size, count, len(groups[0]) if groups else 1)
            plans = made(row, shapes)
            assert seconds_of(plans, 1, LATENCY) == closed.alphas, f"size {size}, groups {groups}"
            timed = seconds_of(plans, 1, BANDWIDTH)
            assert low * closed.path <= timed <= high * closed.path, f"size {size}, groups {groups}"


def timed(*ranks: list[Step], network: Network = BANDWIDTH, gamma: float = 0) -> float:
    return seconds_of([Plan(tuple(steps)) for steps in ranks], 1, network, gamma)


def test_a_port_out_sends_one_message_at_a_time() -> None:
    leaves = [[step(Receive(0, (r(0, 3),)))], [step(Receive(0, (r(0, 4),)))]]
    assert timed([step(Send(1, (s(0, 3),)), Send(2, (s(0, 4),)))], *leaves) == 7


def test_a_port_out_keeps_the_order_of_the_list() -> None:
    """Rank 2 has more to do after it, and pays for being last."""
    leaves = [[step(Receive(0, (r(0, 5),)))], [step(Receive(0, (r(0, 5),))), step(Send(3, (s(0, 5),)))]]
    end = [step(Receive(2, (r(0, 5),)))]
    first, second = Send(1, (s(0, 5),)), Send(2, (s(0, 5),))
    assert timed([step(first, second)], *leaves, end) == 15
    assert timed([step(second, first)], *leaves, end) == 10


def test_a_port_in_takes_one_message_at_a_time() -> None:
    root = [step(Receive(1, (r(0, 3),)), Receive(2, (r(3, 7),)))]
    assert timed(root, [step(Send(0, (s(0, 3),)))], [step(Send(0, (s(0, 4),)))]) == 7


def test_both_ports_work_at_once() -> None:
    swap = [[step(Send(1 - rank, (s(0, 4),)), Receive(1 - rank, (r(0, 4),)))] for rank in (0, 1)]
    assert timed(*swap) == 4


def test_a_message_waits_for_both_ends() -> None:
    """Rank 0 reaches the step that receives from rank 2 only after 5; rank 2 was ready at 0."""
    zero = [step(Receive(1, (r(0, 5),))), step(Receive(2, (r(0, 3),)))]
    assert timed(zero, [step(Send(0, (s(0, 5),)))], [step(Send(0, (s(0, 3),)))]) == 8


def test_a_late_receiver_does_not_hold_up_the_others() -> None:
    """Rank 0 lists rank 1 first, which is busy until 9: rank 2 is served meanwhile."""
    zero = [step(Send(1, (s(0, 2),)), Send(2, (s(0, 4),)))]
    one = [step(Receive(3, (r(0, 9),))), step(Receive(0, (r(0, 2),)))]
    assert timed(zero, one, [step(Receive(0, (r(0, 4),)))], [step(Send(1, (s(0, 9),)))]) == 11


def test_what_becomes_possible_at_one_instant_is_chosen_from_by_order() -> None:
    """Ranks 1 and 2 are both free for rank 0's message at 5; rank 1, first on its list, only after a copy more."""
    zero = [step(Send(1, (s(0, 3),)), Send(2, (s(0, 3),)))]
    one = [
        step(Receive(4, (r(0, 5),))),
        copy(1, s(0, 1), x(0, 1)),
        step(Receive(0, (r(0, 3),))),
        step(Send(5, (s(0, 9),))),
    ]
    two = [step(Receive(3, (r(0, 5),))), step(Receive(0, (r(0, 3),)))]
    feeders = [[step(Send(2, (s(0, 5),)))], [step(Send(1, (s(0, 5),)))]]
    assert timed(zero, one, two, *feeders, [step(Receive(1, (r(0, 9),)))]) == 5 + 3 + 9


def test_a_push_waits_for_its_fold() -> None:
    push = [step(Fold(r(0, 3), (s(0, 3), Message(1))), Send(2, (r(0, 3),), after=True))]
    assert timed(push, [step(Send(0, (s(0, 3),)))], [step(Receive(0, (r(0, 3),)))]) == 6


def test_local_copies_are_free() -> None:
    assert timed([copy(0, s(0, 9), x(0, 9)), copy(0, x(0, 9), r(0, 9))]) == 0


def test_folding_costs_gamma_a_byte_and_operand_folded_in() -> None:
    leaves = [[step(Send(0, (s(0, 4),)))], [step(Send(0, (s(0, 4),)))]]
    root = [step(Fold(r(0, 4), (s(0, 4), Message(1), Message(2))))]
    assert timed(root, *leaves) == 8
    assert timed(root, *leaves, gamma=10) == 8 + 2 * 4 * 10


def test_folds_of_one_rank_follow_one_another() -> None:
    folds = [Fold(r(0, 4), (s(0, 4), s(0, 4))), Fold(x(0, 4), (s(0, 4), s(0, 4)))]
    assert timed([step(*folds)], gamma=1) == 8


def test_empty_messages_cost_alpha() -> None:
    token = [[step(Send(1 - rank, ()), Receive(1 - rank, ()))] for rank in (0, 1)]
    assert timed(*token, network=LATENCY) == 1


def test_links_differ_inside_and_across_groups() -> None:
    network = grouped(Link(1, 0), Link(10, 2), ((0, 2), (1, 3)))
    assert [network.link(0, peer) for peer in (2, 1, 3)] == [Link(1, 0), Link(10, 2), Link(10, 2)]
    assert network.slowest == Link(10, 2)
    assert grouped(Link(1, 0), Link(10, 2), ((0, 1),)).slowest == Link(1, 0)
    swap = [[step(Send(1 - rank, (s(0, 3),)), Receive(1 - rank, (r(0, 3),)))] for rank in (0, 1)]
    assert timed(*swap, [], [], network=network) == 16


def test_groups_pay_where_links_differ() -> None:
    """8 ranks in 2 groups with slow links between them: hierarchical beats the flat ring."""
    groups = equal_groups(8, 4)
    network = grouped(Link(1e-6, 1e-11), Link(1e-6, 1e-9), groups)
    rows = ALGORITHMS["allreduce"]
    count = 1 << 20
    hierarchical = predict(rows["hierarchical"], 8, count, 4, network, groups=groups)
    assert hierarchical.seconds < predict(rows["ring"], 8, count, 4, network).seconds


@pytest.mark.parametrize(
    ("plans", "words"),
    [
        ([[step(Send(1, (s(0, 1),)))], []], "a message is sent that nobody receives"),
        ([[step(Receive(1, (r(0, 1),)))], []], "rank 0 expects a message that rank 1 lacks"),
        (
            [[step(Send(1, (s(0, 1),), after=True))], [step(Receive(0, (r(0, 1),)))]],
            "rank 0 sends `after` what no fold",
        ),
        ([[step(Send(1 - k, ())), step(Receive(1 - k, ()))] for k in (0, 1)], "some ranks never finish"),
    ],
    ids=["unreceived", "unsent", "after nothing", "deadlock"],
)
def test_plans_that_do_not_fit_are_refused(plans: list[list[Step]], words: str) -> None:
    with pytest.raises(PlanError, match=f"the plans do not fit together: {words}"):
        timed(*plans)


@pytest.mark.parametrize("name", ALGORITHMS["allreduce"])
def test_prediction_is_the_closed_form_on_a_uniform_network(name: str) -> None:
    row, link = ALGORITHMS["allreduce"][name], Link(alpha=2e-6, beta=1e-10)
    groups = equal_groups(8, 4) if name == "hierarchical" else ()
    prediction = predict(row, 8, 8 * 1024, 4, uniform(link), groups=groups)
    closed = row.closed(8, 8 * 1024, 4)
    assert prediction.how == SIMULATED
    assert (prediction.steps, prediction.wire_bytes) == (closed.steps, closed.wire * 4)
    assert prediction.seconds == pytest.approx(closed.alphas * link.alpha + closed.path * 4 * link.beta)


@each_row
def test_any_number_of_ranks_is_predicted(row: Algorithm) -> None:
    groups = equal_groups(65536, 8) if row.name == "hierarchical" else ()
    link = Link(1e-6, 1e-10)
    prediction = predict(row, 65536, 65536, 4, uniform(link), groups=groups)
    closed = row.closed(65536, 65536, 8)
    assert prediction.how == CLOSED
    assert prediction.seconds == closed.alphas * link.alpha + closed.path * 4 * link.beta > 0
    assert prediction.wire_bytes == round(closed.wire * 4)


def test_closed_forms_take_the_slowest_link() -> None:
    row, inside, across = ALGORITHMS["allreduce"]["ring"], Link(1e-6, 1e-11), Link(3e-6, 1e-10)
    slow = predict(row, 1024, 1024, 4, uniform(across))
    assert predict(row, 1024, 1024, 4, grouped(inside, across, equal_groups(1024, 8))) == slow


def test_the_wire_bytes_of_a_timed_plan_are_counted() -> None:
    """13 elements on 5 ranks: chunks of 2 and 3, so the closed form is off by rounding."""
    prediction = predict(ALGORITHMS["allreduce"]["ring"], 5, 13, 4, LATENCY)
    row = ALGORITHMS["allreduce"]["ring"]
    sent = [sum(span.count for st in plan.steps for send in st.sends for span in send.spans)
            for plan in made(row, shapes_of(row, 5, 13))]  # fmt: skip
    assert prediction.wire_bytes == 4 * max(sent) != 4 * row.closed(5, 13, 1).wire


def test_unmet_needs_are_refused() -> None:
    with pytest.raises(UsageError, match="reduce_scatter halving needs a power of two ranks, not 6"):
        predict(ALGORITHMS["reduce_scatter"]["halving"], 6, 1, 4, LATENCY)
