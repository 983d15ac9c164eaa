"""From stamps whose truth is known to the figures: longest of all ranks, rates, ceilings, and who came late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from collectives.ops import COLLECTIVES
from suites.case import Case
from suites.measure import Floor, ceiling_of, floor, measure
from suites.report import Measurement

BASE = Floor(overhead=3e-7, latency=20e-6)
MIB = 1 << 20

Spans = Sequence[tuple[float, float]]
"""(entry, exit) of each sample in microseconds."""


def case(collective: str = "allreduce", count: int = MIB, *, in_place: bool = False, dtype: str = "float32") -> Case:
    return Case("builtin", collective, "any", 123, count, dtype, "sum", 0, in_place)


def report(spans: Spans, **given: Any) -> dict[str, Any]:
    """What one rank reports."""
    return {
        "stamps": [[round(entry * 1000), round(leave * 1000)] for entry, leave in spans],
        "runs": [1] * len(spans),
        "ceiling": [],
        "ceiling_bytes": 0,
        "ceiling_source": "by hand, a lower bound",
        "asked": len(spans),
        "sets": 1,
        "checked": 2,
        "failed": 0,
        "wrong": None,
    } | given


def measured(
    *ranks: dict[str, Any],
    what: Case | None = None,
    peak: float | None = None,
    check: bool = True,
    counts: Sequence[int] = (),
) -> Measurement:
    return measure(what or case(), dict(enumerate(ranks)), BASE, peak, check, counts)


def test_a_sample_is_the_longest_of_all_ranks_and_the_headline_their_median() -> None:
    first = [(0, 10), (100, 130), (200, 220), (300, 310), (400, 405)]
    second = [(2, 22), (100, 110), (190, 200), (300, 350), (400, 460)]
    result = measured(report(first), report(second))
    assert result.samples == pytest.approx((20e-6, 30e-6, 20e-6, 50e-6, 60e-6))
    assert result.time == pytest.approx(30e-6)
    assert result.alg_bw == pytest.approx(4 * MIB / 30e-6)
    assert (result.iterations, result.iterations_asked, result.overhead) == (5, 5, 3e-7)


def test_rates_come_from_the_median_time_not_from_a_mean_of_rates() -> None:
    result = measured(report([(0, 10), (100, 200), (300, 1300)]))
    assert result.alg_bw == pytest.approx(4 * MIB / 100e-6)


def test_a_batch_is_one_sample_of_its_mean_however_short_the_last_one() -> None:
    batches = report([(0, 100), (100, 300), (300, 330)], runs=[10, 10, 3], asked=40)
    result = measured(batches, batches)
    assert result.samples == pytest.approx((10e-6, 20e-6, 10e-6))
    assert (result.iterations, result.iterations_asked) == (23, 40)


@pytest.mark.parametrize("ranks", range(1, 9))
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_bandwidths_are_those_of_nccl_tests(collective: str, ranks: int) -> None:
    """Written out again from nccl-tests' sources: the bytes that algbw counts, and busbw's factor."""
    count, item, n = 5040, 4, ranks
    total = count * item * n
    skewed = max(sum(2 * count * ((rank + peer) % n + 1) // (n + 1) for peer in range(n)) for rank in range(n)) * item
    size, factor = {
        "allreduce": (count * item, 2 * (n - 1) / n),
        "allgather": (total, (n - 1) / n),
        "reduce_scatter": (total, (n - 1) / n),
        "alltoall": (total, (n - 1) / n),
        "alltoallv": (skewed, (n - 1) / n),
        "broadcast": (count * item, 1),
        "reduce": (count * item, 1),
        "gather": (total, (n - 1) / n),
        "scatter": (total, (n - 1) / n),
        "sendrecv": (count * item, 1),
        "barrier": (0, None),
    }[collective]
    result = measured(*[report([(0, 50)])] * ranks, what=case(collective, count if size else 0))
    assert result.bytes_moved == size
    assert result.alg_bw == (pytest.approx(size / 50e-6) if size else None)
    assert result.bus_bw == (pytest.approx(size / 50e-6 * factor) if size and n > 1 else None)


def test_what_one_rank_leaves_in_place_has_no_rate() -> None:
    result = measured(report([(0, 10)], ceiling=[1.0], ceiling_bytes=1 << 30), what=case(in_place=True))
    assert (result.alg_bw, result.bus_bw, result.efficiency, result.implausible) == (None, None, None, False)


# (reads, writes) of all ranks at the least, in multiples of the size: out of place, in place. Here by counting, for n
# ranks: whose elements must be read, and where they must be written. In place, a block that stays is neither.
TRAFFIC = {
    "allreduce": lambda n: ((n, n), (n, n)),
    "allgather": lambda n: ((1, n), (1, n - 1)),
    "reduce_scatter": lambda n: ((n, 1), (n, 1)),
    "alltoall": lambda n: ((n, n), None),
    "alltoallv": lambda n: ((n, n), None),
    "broadcast": lambda n: ((1, n), (1, n - 1)),
    "reduce": lambda n: ((n, 1), (n, 1)),
    "gather": lambda n: ((1, 1), ((n - 1) / n, (n - 1) / n)),
    "scatter": lambda n: ((1, 1), ((n - 1) / n, (n - 1) / n)),
    "sendrecv": lambda n: ((n, n), None),
}


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize(
    ("collective", "in_place"),
    [(name, in_place) for name, traffic in TRAFFIC.items() for in_place in (False, True) if traffic(2)[in_place]],
)
def test_efficiency_is_the_least_time_of_what_must_move_by_the_time_taken(
    collective: str, in_place: bool, ranks: int
) -> None:
    traffic = TRAFFIC[collective](ranks)[in_place]
    assert traffic
    what = case(collective, in_place=in_place)
    size = what.bytes_moved(ranks)
    # Every rank copies 30 MB (each way counted) while the slowest takes 2 ms: together 15 GB/s a rank.
    copied = report([(0, 50_000)], ceiling=[0.004, 0.002, 0.003], ceiling_bytes=30_000_000)
    result = measured(*[copied] * ranks, what=what)
    least = sum(traffic) * size / (ranks * 15e9)
    assert result.ceiling is not None
    assert result.ceiling.time == pytest.approx(least)
    assert result.ceiling.bus_bw == pytest.approx(size * COLLECTIVES[collective].bus_factor(ranks) / least)
    assert "lower bound" in result.ceiling.source
    assert result.efficiency == pytest.approx(least / 0.05)
    # The same as a quotient of bus bandwidths.
    assert result.bus_bw is not None
    assert result.ceiling.bus_bw is not None
    assert result.efficiency == pytest.approx(result.bus_bw / result.ceiling.bus_bw)


def test_a_peak_replaces_the_measured_ceiling() -> None:
    copied = report([(0, 1000)], ceiling=[1.0], ceiling_bytes=30_000_000)
    result = measured(copied, copied, copied, copied, peak=8e9)
    assert result.ceiling is not None
    assert (result.ceiling.bus_bw, result.ceiling.source) == (8e9, "--peak")
    assert result.ceiling.time == pytest.approx(4 * MIB * 1.5 / 8e9)
    assert result.efficiency == pytest.approx(4 * MIB * 1.5 / 8e9 / 1e-3)


@pytest.mark.parametrize(("time", "implausible"), [(1001, False), (999, True)])
def test_more_than_110_percent_is_implausible(time: float, implausible: bool) -> None:
    peak = 4 * MIB / (1.1 * 1000e-6)  # of two ranks: what takes 1000 us is 110 %
    assert measured(report([(0, time)]), report([(0, time)]), peak=peak).implausible is implausible


def test_where_latency_dominates_there_is_a_ceiling_but_no_efficiency() -> None:
    """The least time is below what ranks take to agree on anything."""
    copied = report([(0, 30)], ceiling=[0.001], ceiling_bytes=20_000_000)
    small = measured(copied, copied, what=case(count=1000))
    assert small.ceiling is not None
    assert 0 < small.ceiling.time < BASE.latency
    assert small.efficiency is None


@pytest.mark.parametrize(
    ("collective", "ranks", "copied", "seconds", "peak"),
    [
        ("barrier", 4, 1e9, [0.1], None),
        ("barrier", 4, 1e9, [0.1], 1e9),
        ("allreduce", 1, 0, [], 1e9),
        ("allreduce", 2, 0, [], None),
        ("allreduce", 2, 0, [0.1], None),
    ],
)
def test_no_ceiling_where_nothing_moves_or_nothing_was_copied(
    collective: str, ranks: int, copied: float, seconds: list[float], peak: float | None
) -> None:
    what = case(collective, 0 if collective == "barrier" else 9)
    assert ceiling_of(what, ranks, copied, seconds, "by hand", peak) is None


def test_the_late_rank_is_the_one_that_entered_last_not_the_one_that_took_longest() -> None:
    """Rank 0 enters first and waits for rank 1, so its own duration is the longest."""
    waits, late = [(t, t + 50) for t in (0, 100, 200)], [(t + 40, t + 51) for t in (0, 100, 200)]
    assert measured(report(waits), report(late), report(waits)).late_rank == 1


@pytest.mark.parametrize(
    ("entries", "late"),
    [
        ([(0, 0.9), (100, 100.9), (200, 200.9)], None),  # within the error of the clock
        ([(0, 1.2), (100, 101.2), (200, 201.2)], 1),
        ([(0, 5), (105, 100), (200, 205), (305, 300)], None),  # in turn: nobody in most samples
        ([(0, 5), (105, 100), (200, 205)], 1),
    ],
)
def test_nobody_is_late_by_less_than_the_clocks_may_err_or_in_half_of_the_samples(
    entries: list[tuple[float, float]], late: int | None
) -> None:
    ranks = [report([(pair[rank], 1000 + pair[0]) for pair in entries]) for rank in (0, 1)]
    assert measured(*ranks).late_rank == late


def test_one_rank_is_never_late() -> None:
    assert measured(report([(0, 10)])).late_rank is None


def test_wrong_data_names_the_rank_and_how_often() -> None:
    wrong = {"count": 3, "index": 17, "expected": 5.0, "got": 4.0}
    sometimes, always = report([(0, 9)], wrong=wrong, failed=1), report([(0, 9)], wrong=wrong, failed=2)
    result = measured(report([(0, 9)]), sometimes, always)
    assert result.wrong is not None
    assert [(w.rank, w.count, w.index, w.how_often) for w in result.wrong] == [
        (1, 3, 17, "sometimes (1 of 2 checks)"),
        (2, 3, 17, "always"),
    ]


def test_unchecked_is_not_the_same_as_right() -> None:
    assert measured(report([(0, 9)]), check=False).wrong is None
    assert measured(report([(0, 9)])).wrong == ()


def test_the_floor_of_a_run_is_the_worst_harness_and_the_median_agreement() -> None:
    ready = {
        0: {"overhead": [100, 300, 200], "latency": [[0, 10_000], [20_000, 50_000], [60_000, 65_000]]},
        1: {"overhead": [400, 400, 900], "latency": [[0, 20_000], [20_000, 21_000], [60_000, 61_000]]},
    }
    assert floor(ready) == Floor(overhead=pytest.approx(4e-7), latency=pytest.approx(20e-6))


def test_between_hosts_the_ceiling_is_the_least_that_must_leave_a_host_at_what_neighbours_reach() -> None:
    """Two hosts of two ranks: allreduce must send its size out of each; together they sent 4 MiB in a millisecond."""
    sent = {"ceiling": [2e-3, 1e-3], "ceiling_bytes": MIB, "ceiling_source": "neighbour bandwidth between hosts"}
    result = measured(*[report([(0, 4000)] * 6, **sent)] * 4, counts=(2, 2))
    assert result.ceiling
    assert result.ceiling.time == pytest.approx(4 * MIB / (2 * MIB / 1e-3))
    assert result.efficiency == pytest.approx(0.5)
    assert result.neighbour_bw == pytest.approx(2 * MIB / 1e-3)  # each of the two


def test_what_a_barrier_between_hosts_might_hide_has_no_efficiency() -> None:
    sent = {"ceiling": [100e-6], "ceiling_bytes": 4 * MIB}
    ranks = [report([(0, 150), (1000, 1150), (2000, 2150)], **sent)] * 2
    alone = measured(*ranks)
    assert alone.efficiency is not None
    assert alone.neighbour_bw is None  # it was memory
    apart = measured(*ranks, counts=(1, 1))
    assert apart.ceiling
    assert BASE.latency < apart.ceiling.time < 10 * BASE.latency
    assert apart.efficiency is None


DAY = 86_400 * 10**9


def read(offset: int, error: int, *, drift: int = 0) -> list[list[int]]:
    """A clock that was ahead by `offset` and is known to `error`, nanoseconds, before and after all samples."""
    return [[offset, offset, error], [offset + 10**9, offset + drift, error]]


def apart(offset: int, error: int, *entries: Sequence[float], counts: Sequence[int] = (1, 1), **more: Any) -> Any:
    """Ranks that entered at these microseconds, on hosts of which the second one's clock is ahead."""
    first = counts[0]
    reports = [
        report([(at + (rank >= first) * offset / 1000, at + 500 + (rank >= first) * offset / 1000) for at in ranks])
        for rank, ranks in enumerate(zip(*entries, strict=True))
    ]
    reports[0]["clocks"] = [read(0, 0), read(offset, error, **more)]
    return measured(*reports, counts=counts)


@pytest.mark.parametrize("offset", [0, 7, -DAY, DAY])
def test_between_hosts_the_late_rank_is_found_on_one_clock(offset: int) -> None:
    early, late = [(0, 100), (1000, 1100), (2000, 2100)], [(90, 0), (1090, 1000), (2090, 2000)]
    assert apart(offset, 20_000, *early).late_rank == 1
    assert apart(offset, 20_000, *late).late_rank == 0
    assert apart(offset, 20_000, *early).clock_error == pytest.approx(20e-6, abs=1e-8)


@pytest.mark.parametrize(("gap", "late"), [(100, 1), (22, 1), (20, None), (5, None)])
def test_between_hosts_nobody_is_late_by_less_than_their_clocks_may_err(gap: float, late: int | None) -> None:
    entries = [(start, start + gap) for start in (0, 1000, 2000)]
    assert apart(DAY, 20_000, *entries).late_rank == late


def test_between_hosts_a_clock_that_runs_faster_makes_nobody_late() -> None:
    """By the second sample, a second later, it has gained 300 us: nobody is late by that."""
    entries = [(0, 0), (500_000, 500_150), (1_000_000, 1_000_300)]
    assert apart(DAY, 200_000, *entries, drift=300_000).late_rank is None
    assert apart(DAY, 200_000, *[(at, also + 450) for at, also in entries], drift=300_000).late_rank == 1


def test_ranks_of_one_host_are_told_apart_as_finely_as_ever_and_only_others_by_the_error() -> None:
    """Rank 1 shares its host with rank 0; ranks 2 and 3 are elsewhere, where 20 us cannot be seen."""
    near = [(start, start + 30, start - 70, start - 60) for start in (0, 1000, 2000)]
    assert apart(DAY, 50_000, *near, counts=(2, 2)).late_rank == 1
    level = [(start, start + 30, start - 70, start + 10) for start in (0, 1000, 2000)]
    assert apart(DAY, 50_000, *level, counts=(2, 2)).late_rank is None
    other = [(start, start, start + 60, start + 62) for start in (0, 1000, 2000)]
    assert apart(DAY, 50_000, *other, counts=(2, 2)).late_rank == 3


def test_of_clocks_that_nobody_has_read_nothing_is_said() -> None:
    late = [report([(0, 500)] * 3), report([(300, 500)] * 3)]
    found = measured(*late, counts=(1, 1))
    assert (found.late_rank, found.clock_error) == (None, None)
    assert measured(*late).late_rank == 1
    assert measured(*late).clock_error is None
