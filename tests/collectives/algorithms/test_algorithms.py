"""Every row of ALGORITHMS is proven for world sizes 1-17 and awkward counts, and its closed forms hold.

A failure names the row; the message says at which size, count, root and grouping.
"""

from __future__ import annotations

import pytest

from collectives.algorithms import ALGORITHMS, Algorithm, algorithm_named
from collectives.errors import PlanError, UsageError
from collectives.ops import COLLECTIVES
from collectives.schedule import Closed
from collectives.simulate import Outcome, simulate
from tests.collectives.plans import Groups, groupings, made, round_robin, shapes_of

ROWS = [row for rows in ALGORITHMS.values() for row in rows.values()]
SIZES = range(1, 18)
SERVED = {"allgather recursive_doubling": (1, 2, 4, 8, 16), "reduce_scatter halving": (1, 2, 4, 8, 16)}
"""The world sizes that a row serves, where not all."""

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.collective}-{row.name}")


def counts(size: int) -> list[int]:
    return sorted({0, 1, size - 1, size, 3 * size + 1, 64})


def roots(row: Algorithm, size: int) -> list[int]:
    return sorted({0, size // 2, size - 1}) if COLLECTIVES[row.collective].rooted else [0]


def places(row: Algorithm) -> list[bool]:
    return [False, True] if COLLECTIVES[row.collective].alias else [False]


def parts(row: Algorithm, size: int) -> int:
    """In how many parts the row cuts a buffer, or what its load divides by: chunks of such counts are whole."""
    if row.name == "halving_doubling":
        return 1 << (size.bit_length() - 1)
    return size + 1 if row.collective == "alltoallv" else size


def proven(row: Algorithm, size: int, count: int, root: int, groups: Groups, in_place: bool) -> Outcome:
    shapes = shapes_of(row, size, count, root=root, groups=groups, in_place=in_place)
    assert not any(row.unmet(shape) for shape in shapes)
    return simulate(made(row, shapes), COLLECTIVES[row.collective], shapes, count)


def holds(closed: Closed, outcome: Outcome, *, whole: bool) -> bool:
    """Steps always agree; elements do where chunks are whole, and else within one for each message on the path."""
    rounding = 0 if whole else closed.alphas
    return outcome.steps == closed.steps and abs(outcome.wire - closed.wire) <= rounding


@each_row
def test_proven_and_costs_what_it_says(row: Algorithm) -> None:
    served = SERVED.get(f"{row.collective} {row.name}", SIZES)
    for size in served:
        for groups in groupings(row, size):
            for count in counts(size):
                closed = row.closed(size, count, len(groups[0]) if groups else 1)
                whole = count % parts(row, size) == 0
                for root in roots(row, size):
                    for in_place in places(row):
                        case = f"size {size}, count {count}, root {root}, groups {groups}, in place {in_place}"
                        try:
                            outcome = proven(row, size, count, root, groups, in_place)
                        except PlanError as error:
                            error.add_note(case)
                            raise
                        assert holds(closed, outcome, whole=whole), f"{case}: {outcome} is not {closed}"


@pytest.mark.parametrize(("size", "group"), [(4, 2), (12, 3), (12, 4), (15, 5), (16, 2)])
def test_groups_need_not_be_contiguous(size: int, group: int) -> None:
    row = ALGORITHMS["allreduce"]["hierarchical"]
    count = 3 * size
    for in_place in (False, True):
        outcome = proven(row, size, count, 0, round_robin(size, group), in_place)
        assert holds(row.closed(size, count, group), outcome, whole=True)


@pytest.mark.parametrize("name", SERVED)
def test_other_sizes_are_refused_with_a_reason(name: str) -> None:
    row = ALGORITHMS[name.split()[0]][name.split()[1]]
    for size in set(SIZES) - set(SERVED[name]):
        assert row.unmet(shapes_of(row, size, 1)[0]) == f"needs a power of two ranks, not {size}"


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ((), "needs groups of ranks (hosts or NUMA nodes, or --group-size)"),
        (((0, 1), (2,)), "needs groups of equal size, not of 2, 1"),
        (((0, 1), (1, 2)), "needs groups that hold each of the 4 ranks once"),
        (((0, 1),), "needs groups that hold each of the 4 ranks once"),
    ],
)
def test_groups_that_cannot_be_served(groups: Groups, reason: str) -> None:
    row = ALGORITHMS["allreduce"]["hierarchical"]
    assert row.unmet(shapes_of(row, 4, 1, groups=groups)[0]) == reason


def test_every_collective_has_an_algorithm_for_any_size() -> None:
    for collective, rows in ALGORITHMS.items():
        assert any(not row.unmet(shapes_of(row, size, 1)[0]) for size in (7, 11) for row in rows.values()), collective


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    assert algorithm_named("allreduce", "ring").name == "ring"
    with pytest.raises(UsageError, match="unknown allreduce algorithm 'rnig': did you mean 'ring'"):
        algorithm_named("allreduce", "rnig")
