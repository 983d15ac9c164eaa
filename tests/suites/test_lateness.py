"""Who is late, from made-up stamps: a rank that is, machines that are merely busy, ranks that are only held up."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.lateness import Entered, Late, judge

TIMEOUT = 3.0
CALLS = 200
MILLISECOND = 1_000_000


def run(
    ranks: int, noise: random.Random | None = None, late: dict[tuple[int, int], int] | None = None, tell: bool = True
) -> dict[int, list[Entered]]:
    """Ranks that make CALLS calls together. `noise` keeps them off the CPU at random, inside calls and between them;
    `late` is by (rank, call), in ms, on top. Without `tell` the system says nothing of the queue."""
    clocks = {rank: rank * 3600 * 1000 * MILLISECOND for rank in range(ranks)}  # of hosts that do not agree
    now = dict.fromkeys(range(ranks), 0)
    entered: dict[int, list[Entered]] = {rank: [] for rank in range(ranks)}
    for number in range(1, CALLS + 1):
        arrivals = {}
        for rank in range(ranks):
            queued = int(noise.expovariate(1 / 50)) * MILLISECOND if noise and noise.random() < 0.3 else 0
            own = MILLISECOND + (late or {}).get((rank, number), 0) * MILLISECOND
            arrivals[rank] = (now[rank] + queued + own, queued)
        ends = max(at for at, _ in arrivals.values())
        for rank, (at, queued) in arrivals.items():
            descheduled = int(noise.expovariate(1 / 50)) * MILLISECOND if noise else 0
            now[rank] = ends + descheduled
            stamps = (clocks[rank] + at, clocks[rank] + now[rank])
            entered[rank].append(Entered(number, *stamps, queued if tell else 0))
    return entered


def test_one_that_is_late_again_and_again_is_named_with_its_calls() -> None:
    late = {(2, number): 300 for number in (50, 51, 60)}
    assert judge(run(4, late=late), TIMEOUT) == Late(2, (50, 51, 60), pytest.approx(0.9))


@pytest.mark.parametrize("seed", range(20))
def test_it_is_found_on_a_busy_machine_too(seed: int) -> None:
    found = judge(run(8, random.Random(seed), {(5, number): 300 for number in range(100, 106)}), TIMEOUT)
    assert found is not None
    assert found.rank == 5


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("seed", range(40))
def test_a_busy_machine_is_no_late_rank(ranks: int, seed: int) -> None:
    assert judge(run(ranks, random.Random(seed)), TIMEOUT) is None


def test_that_noise_would_look_like_late_ranks_if_the_queue_were_not_taken_off() -> None:
    untold = [judge(run(2, random.Random(seed), tell=False), TIMEOUT) for seed in range(40)]
    assert any(untold)


@pytest.mark.parametrize("times", [1, 2])
def test_seldom_is_not_again_and_again(times: int) -> None:
    assert judge(run(4, late={(1, number): 500 for number in range(10, 10 + times)}), TIMEOUT) is None


def test_where_it_is_anybodys_turn_nobody_is_named() -> None:
    late = {(rank, 10 + 4 * turn + rank): 500 for turn in range(6) for rank in range(4)}
    assert judge(run(4, late=late), TIMEOUT) is None


def test_late_by_less_than_counts_at_this_deadline() -> None:
    late = {(1, number): 300 for number in range(10, 20)}
    assert judge(run(4, late=late), 3.0) is not None
    assert judge(run(4, late=late), 20.0) is None


def test_all_late_together_is_nobodys_fault() -> None:
    late = {(rank, number): 1000 for number in range(10, 20) for rank in range(4)}
    assert judge(run(4, late=late), TIMEOUT) is None


@given(
    st.dictionaries(
        st.integers(0, 4),
        st.lists(st.builds(Entered, *[st.integers(0, 2**62)] * 4), max_size=6),
        max_size=4,
    )
)
def test_any_stamps_are_judged(entered: dict[int, list[Entered]]) -> None:
    found = judge(entered, TIMEOUT)
    assert found is None or found.rank in entered
