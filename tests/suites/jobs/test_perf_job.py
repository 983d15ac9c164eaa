"""The rank's side of perf on a world of one whose clock is told, not read: what is run, checked, cut and reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from collectives.dtypes import DTYPES, Array
from suites.jobs.arena import MOST_SETS
from suites.jobs.ceiling import BRIEF_REPETITIONS
from suites.jobs.inject import InjectedError
from suites.jobs.settings import BATCH_SECONDS, CHUNK_SECONDS, REPEATS
from suites.pattern import Pattern
from tests.suites.jobs.told import CASE, Clock, ToldCommunicator, reports, tell


@pytest.fixture
def comm(monkeypatch: pytest.MonkeyPatch) -> Iterator[ToldCommunicator]:
    told = ToldCommunicator(Clock())
    fill = Pattern.fill

    def counted(self: Any, view: Array, rank: int) -> None:
        told.fills += 1
        fill(self, view, rank)

    tell(monkeypatch, told)
    monkeypatch.setattr("suites.jobs.caserun.Pattern.fill", counted)
    state = np.geterr()
    yield told
    np.seterr(**state)


@pytest.mark.parametrize(("loop", "checked"), [(1, [5]), (2, [5, 6]), (20, [5, 24])])
def test_warm_up_then_the_loop_with_its_first_and_last_iteration_checked(
    comm: ToldCommunicator, loop: int, checked: list[int]
) -> None:
    ((report,), _) = reports(loop=loop)
    assert len(comm.runs) == 5 + loop
    assert [number for number, told in enumerate(comm.runs) if told.poisoned] == checked
    assert (report["checked"], report["failed"], report["wrong"]) == (len(checked), 0, None)
    stamps = np.asarray(report["stamps"])
    assert (stamps[:, 1] - stamps[:, 0]).tolist() == [1_000_000] * loop
    assert (report["runs"], report["asked"]) == ([1] * loop, loop)


def test_a_run_that_does_nothing_is_found_although_the_buffer_held_the_right_result_before(
    comm: ToldCommunicator,
) -> None:
    comm.idle = frozenset({24})
    ((report,), _) = reports()
    assert report["wrong"]["count"] == 1000
    assert report["wrong"]["index"] == 0
    # Tried again, to say "sometimes".
    assert (report["checked"], report["failed"]) == (2 + REPEATS, 1)
    assert len(comm.runs) == 25 + REPEATS


def test_what_is_always_wrong_fails_every_check(comm: ToldCommunicator) -> None:
    comm.idle = frozenset(range(100))
    ((report,), _) = reports()
    assert report["checked"] == report["failed"] == 2 + REPEATS


def test_unchecked_nothing_is_compared(comm: ToldCommunicator) -> None:
    comm.idle = frozenset(range(100))
    ((report,), _) = reports(check=False)
    assert (report["checked"], report["failed"], report["wrong"]) == (0, 0, None)


def test_long_loops_go_in_chunks_with_fresh_inputs_each(comm: ToldCommunicator) -> None:
    comm.seconds = CHUNK_SECONDS / 4
    _, progress = reports(loop=12)
    # First and last alone; between them, four at a time.
    assert progress == [1, 5, 9, 11, 12]
    fills = [told.fills for told in comm.runs[5:]]
    assert [fills.index(number) for number in dict.fromkeys(fills)] == [0, 1, 5, 9, 11]


@pytest.mark.parametrize(
    ("seconds", "batch"), [(50e-6, 4), (BATCH_SECONDS, 1), (1e-3, 1), (1e-6, 20)]
)  # fmt: skip
def test_back_to_back_iterations_make_batches_of_at_least_200_us(
    comm: ToldCommunicator, seconds: float, batch: int
) -> None:
    comm.seconds = seconds
    ((report,), _) = reports(sync="none")
    assert report["batch"] == batch
    assert report["runs"] == [batch] * (20 // batch)
    assert np.diff(np.asarray(report["stamps"])).ravel().tolist() == [round(batch * seconds * 1e9)] * (20 // batch)
    # Checked before and after the loop, by runs of their own.
    assert [number for number, told in enumerate(comm.runs) if told.poisoned] == [5, 26]


def test_a_batch_cut_short_by_the_loop_says_how_long_it_is(comm: ToldCommunicator) -> None:
    comm.seconds = 70e-6
    ((report,), _) = reports(sync="none", loop=10)
    assert report["runs"] == [3, 3, 3, 1]


@pytest.mark.parametrize(("asked", "iterations"), [(False, 95), (True, 1000)])
def test_a_budget_cuts_only_loops_that_were_not_asked_for(comm: ToldCommunicator, asked: bool, iterations: int) -> None:
    comm.seconds = 10e-3
    ((report,), progress) = reports(loop=1000, loop_asked=asked, budget=1.005)
    assert (sum(report["runs"]), report["asked"], progress[-1]) == (iterations, 1000, iterations)


def test_a_budget_is_shared_by_the_cases_that_are_left(comm: ToldCommunicator) -> None:
    comm.seconds = 10e-3
    found, _ = reports(CASE, CASE, loop=1000, loop_asked=False, budget=1.01)
    first, second = (sum(report["runs"]) for report in found)
    assert first == 45  # half of the second, less the warm-up
    assert 0 < second <= 50


@pytest.mark.parametrize("asked", [False, True])
def test_cases_beyond_the_budget_are_skipped_with_the_reason(comm: ToldCommunicator, asked: bool) -> None:
    comm.seconds = 0.1
    found, _ = reports(CASE, CASE, loop=20, loop_asked=asked, budget=1.5 if asked else 0.4)
    assert [report["type"] for report in found] == ["case", "skipped"]
    assert found[1]["reason"] == "the time budget was used up"


def test_what_nobody_can_believe_is_measured_once_more(comm: ToldCommunicator) -> None:
    """A copy of 8 MiB takes a millisecond here; a MiB read and written in 10 us is faster than that."""
    large = replace(CASE, count=1 << 18)
    comm.seconds = 10e-6
    ((report,), _) = reports(large)
    assert report["again"]
    assert len(comm.runs) == 5 + 2 * 20
    comm.runs.clear()
    comm.seconds = 1e-3
    ((report,), _) = reports(large)
    assert "again" not in report
    assert len(comm.runs) == 5 + 20


def test_the_ceiling_is_copied_before_and_after_and_counts_what_was_read_and_written(comm: ToldCommunicator) -> None:
    ((report,), _) = reports(replace(CASE, count=1 << 18))
    assert report["ceiling_bytes"] == 16 * (2 << 20)  # half a set to the other, until 32 MiB are read and written
    assert report["ceiling"] == pytest.approx([1e-3] * 2 * BRIEF_REPETITIONS)


@pytest.mark.parametrize("given", [{"peak": 1e9}, {}])
def test_no_ceiling_is_measured_where_none_is_wanted_or_buffers_are_small(
    comm: ToldCommunicator, given: dict[str, Any]
) -> None:
    ((report,), _) = reports(replace(CASE, count=1 << 18 if given else 1000), **given)
    assert (report["ceiling"], report["ceiling_bytes"]) == ([], 0)


def test_a_cold_cache_goes_round_through_all_sets(comm: ToldCommunicator) -> None:
    ((report,), _) = reports(replace(CASE, count=1 << 18), beyond=8 << 20)
    assert report["sets"] == 4
    calls = [id(told.call) for told in comm.runs]
    assert len(set(calls)) == 4
    assert all(calls[number] == calls[number % 4] for number in range(len(calls)))


def test_small_sets_that_the_caches_would_keep_are_used_once_and_pushed_out_again(
    comm: ToldCommunicator, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed: list[int] = []
    monkeypatch.setattr("suites.jobs.caserun.Arena.push_out", lambda arena: pushed.append(len(comm.runs)))
    comm.seconds = 1e-6
    _, progress = reports(loop=200, beyond=8 << 20)
    assert progress == [1, 1 + MOST_SETS, 1 + 2 * MOST_SETS, 1 + 3 * MOST_SETS, 199, 200]
    # When inputs are made, before the loop, and before each of its chunks.
    assert pushed == [0, 5, 6, 6 + MOST_SETS, 6 + 2 * MOST_SETS, 6 + 3 * MOST_SETS]


@pytest.mark.parametrize("sync", ["each", "none"])
@pytest.mark.parametrize("at", ["first", "middle", "19", "3"])
def test_an_injected_wrong_element_is_looked_for_in_its_iteration_and_found(
    comm: ToldCommunicator, sync: str, at: str
) -> None:
    ((report,), _) = reports(inject=[{"fault": "corrupt", "rank": 0, "at": at}], sync=sync)
    assert (report["wrong"]["count"], report["wrong"]["index"], report["failed"]) == (1, 500, 1)
    assert report["checked"] > 1 + REPEATS


def test_a_wrong_element_of_another_rank_is_looked_for_here_too(comm: ToldCommunicator) -> None:
    ((report,), _) = reports(inject=[{"fault": "corrupt", "rank": 1, "at": "middle"}])
    assert (report["wrong"], report["checked"]) == (None, 3)


@pytest.mark.parametrize(
    ("at", "sync", "seconds", "after"),
    [("first", "each", 1e-3, 5), ("middle", "each", 1e-3, 15), ("13", "each", 1e-3, 18), ("13", "none", 50e-6, 18)],
)
def test_a_fault_strikes_before_its_iteration(
    comm: ToldCommunicator, at: str, sync: str, seconds: float, after: int
) -> None:
    """Back to back, before the batch that its iteration is in (after the run that was checked)."""
    comm.seconds = seconds
    with pytest.raises(InjectedError):
        reports(inject=[{"fault": "raise", "rank": 0, "at": at}], sync=sync)
    assert len(comm.runs) == after


def test_every_placement_dtype_and_operator_of_one_rank_is_right(comm: ToldCommunicator) -> None:
    cases = [
        replace(CASE, dtype=dtype, operator=operator, in_place=in_place)
        for dtype in DTYPES
        for operator in ("sum", "prod", "min", "max", "avg")
        for in_place in (False, True)
    ]
    found, _ = reports(*cases, loop=2, warmup=1)
    assert [report["wrong"] for report in found] == [None] * len(cases)
