"""What is special about single algorithms: who talks to whom, and how much crosses a border."""

from __future__ import annotations

import pytest

from collectives.algorithms import ALGORITHMS, Algorithm
from collectives.schedule import Plan
from tests.collectives.plans import equal_groups, made, shapes_of


def plans(collective: str, name: str, size: int, count: int, *, group: int = 0, in_place: bool = False) -> list[Plan]:
    row: Algorithm = ALGORITHMS[collective][name]
    groups = equal_groups(size, group) if group else ()
    return made(row, shapes_of(row, size, count, groups=groups, in_place=in_place))


def elements(plan: Plan, peers: set[int]) -> int:
    """What a rank sends to these peers."""
    return sum(span.count for step in plan.steps for send in step.sends if send.peer in peers for span in send.spans)


@pytest.mark.parametrize("collective", ["allreduce", "allgather", "reduce_scatter"])
def test_ring_talks_to_the_next_rank_only(collective: str) -> None:
    for rank, plan in enumerate(plans(collective, "ring", 5, 10, in_place=True)):
        assert {send.peer for step in plan.steps for send in step.sends} == {(rank + 1) % 5}


def test_pairwise_has_one_partner_at_a_time() -> None:
    for rank, plan in enumerate(plans("alltoall", "pairwise", 6, 2)):
        partners = [[send.peer for send in step.sends if send.peer != rank] for step in plan.steps]
        assert partners == [[(rank + distance) % 6] for distance in range(1, 6)]


@pytest.mark.parametrize(
    ("collective", "name"),
    [("allgather", "direct"), ("alltoall", "direct"), ("allreduce", "one_shot"), ("allreduce", "two_shot")],
)
def test_nobody_is_the_first_target_of_all(collective: str, name: str) -> None:
    """The n-th message of all ranks goes to n-th different ranks, so that no receiver is flooded."""
    firsts = []
    for rank, plan in enumerate(plans(collective, name, 6, 12)):
        firsts.append([send.peer for send in plan.steps[0].sends if send.peer != rank and not send.after])
    for turn in zip(*firsts, strict=True):
        assert sorted(turn) == list(range(6))


def test_hierarchical_sends_less_across_the_border() -> None:
    """2S(m-1)/m leave a group of m, where a flat ring sends 2S(n-1)/n over it."""
    count, size, group = 120, 12, 4
    outside = set(range(group, size))
    hierarchical = sum(
        elements(plan, outside) for plan in plans("allreduce", "hierarchical", size, count, group=group)[:group]
    )
    ring = sum(elements(plan, outside) for plan in plans("allreduce", "ring", size, count)[:group])
    assert hierarchical == 2 * count * 2 // 3
    assert ring == 2 * count * 11 // 12


def test_the_root_of_scatter_allgather_sends_the_buffer_once() -> None:
    root, *others = plans("broadcast", "scatter_allgather", 5, 40)
    assert elements(root, {1, 2, 3, 4}) == 40
    assert [elements(plan, set(range(5))) for plan in others] == [30] * 4


def test_scratch_is_asked_for_where_it_is_needed() -> None:
    assert {plan.scratch for plan in plans("allreduce", "one_shot", 4, 10, in_place=True)} == {10}
    assert {plan.scratch for plan in plans("allreduce", "one_shot", 4, 10)} == {0}
    assert {plan.scratch for plan in plans("reduce_scatter", "ring", 4, 10)} == {20}
    assert [plan.scratch for plan in plans("gather", "tree", 4, 10)] == [0, 0, 10, 0]
