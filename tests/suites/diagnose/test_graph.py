"""The wait-for graph, of numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.graph import Wait, components, ends, reaching


def wait(waiters: set[int], waited: set[int], *, either: bool = False) -> Wait:
    return Wait(frozenset(waiters), frozenset(waited), either=either)


def test_a_chain_ends_at_who_waits_for_nobody() -> None:
    assert ends([wait({0}, {1}), wait({1}, {2}), wait({3, 4}, {0})]).roots == {2}


def test_two_that_wait_for_each_other_are_a_circle_and_who_waits_for_them_is_not_in_it() -> None:
    found = ends([wait({0}, {1}), wait({1}, {0}), wait({2}, {0})])
    assert (found.roots, found.cycles) == (frozenset(), (frozenset({0, 1}),))


def test_a_circle_that_waits_for_somebody_else_is_none() -> None:
    found = ends([wait({0}, {1}), wait({1}, {0, 2})])
    assert (found.roots, found.cycles) == (frozenset({2}), ())


def test_who_waits_for_any_of_two_is_held_up_by_the_one_that_is_free_itself() -> None:
    circle = [wait({1}, {0}), wait({0}, {1, 2}, either=True)]
    assert ends(circle).roots == {2}
    assert ends(circle).cycles == ()


def test_who_waits_for_any_of_two_that_both_wait_for_it_is_in_a_circle() -> None:
    found = ends([wait({1}, {0}), wait({2}, {0}), wait({0}, {1, 2}, either=True)])
    assert found.cycles == (frozenset({0, 1, 2}),)


def test_everybody_from_whom_a_chain_leads_there_is_told() -> None:
    assert reaching({2}, [wait({0}, {1}), wait({1}, {2}), wait({5}, {6})]) == {0, 1}


def test_a_thousand_that_wait_for_a_thousand_are_no_million_of_edges() -> None:
    many, others = set(range(1000)), set(range(1000, 2000))
    assert ends([wait(many, others)]).roots == others


EDGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40)


@given(EDGES)
def test_components_are_those_that_reach_each_other(edges: list[tuple[int, int]]) -> None:
    out: dict[int, set[int]] = {node: set() for node in range(13)}
    for one, other in edges:
        out[one].add(other)

    def reach(start: int) -> set[int]:
        seen, todo = {start}, [start]
        while todo:
            for other in out[todo.pop()] - seen:
                seen.add(other)
                todo.append(other)
        return seen

    reached = {node: reach(node) for node in out}
    wanted = {frozenset(o for o in out if o in reached[n] and n in reached[o]) for n in out}
    assert {frozenset(part) for part in components(out, out)} == wanted


@given(EDGES)
def test_whoever_waits_is_held_up_by_an_end(edges: list[tuple[int, int]]) -> None:
    """Every chain of waiting has an end: roots and circles together hold up everybody who waits."""
    waits = [wait({one}, {other}) for one, other in edges if one != other]
    found = ends(waits)
    targets = set(found.roots).union(*found.cycles)
    held = reaching(targets, waits) | targets
    assert {waiter for w in waits for waiter in w.waiters} <= held
    assert not any(w.waiters & found.roots for w in waits)
