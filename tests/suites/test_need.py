"""Memory counted before it is taken: the largest round, all of its members at the same time."""

from __future__ import annotations

import pytest

from suites.case import Case
from suites.need import case_bytes, needed
from suites.sweep import Sweep
from suites.world import RANK_OVERHEAD

MIB = 1 << 20


def case(backend: str = "b", algorithm: str = "ring", mebibytes: int = 1) -> Case:
    count = mebibytes * MIB // 4
    return Case(backend, "allreduce", algorithm, mebibytes * MIB, count, "float32", "sum", 0, False)


def test_a_library_needs_its_buffers_and_no_plan_is_asked_for() -> None:
    assert case_bytes(case(algorithm="library"), range(3), 3, 0) == 3 * 2 * MIB


def test_an_algorithm_needs_its_scratch_too() -> None:
    """Recursive doubling receives a whole buffer before it folds it."""
    assert (
        case_bytes(case(algorithm="recursive_doubling"), range(2), 2, 0)
        == case_bytes(case(algorithm="library"), range(2), 2, 0) + 2 * MIB
    )


@pytest.mark.parametrize(
    ("rounds", "most"),
    [([(0,), (1,), (2,), (3,)], 8), ([(0, 1), (2, 3)], 12), ([(0, 1, 2, 3)], 18), ([(0, 3), (1, 2)], 10)],
)
def test_members_of_a_round_add_up_and_rounds_do_not(rounds: list[tuple[int, ...]], most: int) -> None:
    names = ("b", "library", 1), ("c", "library", 2), ("d", "library", 2), ("e", "library", 4)
    cases = [case(*what) for what in names]
    sweep = Sweep(cases=cases, rounds=rounds)
    assert needed(sweep, [2], 0) == [2 * RANK_OVERHEAD + most * 2 * MIB]


def test_the_largest_of_many_sizes_counts() -> None:
    cases = [case("b", "library", size) for size in (1, 8, 2)]
    assert needed(Sweep(cases=cases, rounds=[(0,), (1,), (2,)]), [2], 0) == [2 * RANK_OVERHEAD + 2 * 16 * MIB]


def test_nothing_to_run_needs_only_the_processes() -> None:
    assert needed(Sweep(), [3], 0) == [3 * RANK_OVERHEAD]
