"""The rank's side of perf on a world of one whose clock is told, not read: what is run, checked, cut and reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import suites.jobs.perf
from collectives.communicator import Call, Communicator, Stamps, Sync, Work, timed
from collectives.dtypes import DTYPES, Array
from collectives.placement import Placement
from suites.case import Case
from suites.jobs.arena import MOST_SETS
from suites.jobs.perf import BATCH_SECONDS, CHUNK_SECONDS, REPEATS, Settings, run
from suites.launch.rank import RankContext

CASE = Case("told", "allreduce", "any", 4000, 1000, "float32", "sum", 0, False)
SETTINGS = Settings(
    loop=20, warmup=5, sync="each", check=True, beyond=0, loop_asked=True, ends=None, peak=None
)  # fmt: skip


@dataclass
class Clock:
    """Stands still but for what runs, and one millisecond whenever the copies of the ceiling are timed."""

    now: int = 10**9

    def monotonic(self) -> float:
        return self.now / 1e9

    def monotonic_ns(self) -> int:
        self.now += 10**6
        return self.now


@dataclass
class ToldCall:
    """A call of one rank: a copy, when it does as it should. Each run takes `comm.seconds`."""

    comm: ToldCommunicator
    collective: str
    send: Array | None
    recv: Array | None
    algorithm: str = "any"
    why: str = "told"

    def run(self) -> None:
        number = len(self.comm.runs)
        if self.collective == self.comm.watched and self.recv is not None and len(self.recv) > 1:
            self.comm.runs.append(Run(self, bool((self.recv.view(np.uint8) == 0xFF).all()), self.comm.fills))
            self.comm.clock.now += round(self.comm.seconds * 1e9)
            if number in self.comm.idle:
                return
        if self.send is not None and self.recv is not None:
            self.recv[:] = self.send

    def start(self) -> Work:
        raise NotImplementedError

    def time(self, iterations: int, sync: Sync, batch: int = 1, rotation: Sequence[Call] = ()) -> Stamps:
        runs = [self.run, *(call.run for call in rotation)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("collectives.communicator.time", SimpleNamespace(monotonic_ns=lambda: self.comm.clock.now))
            return timed(runs, iterations, batch if sync == "none" else 1, lambda: None)


@dataclass(frozen=True)
class Run:
    """One run of the measured collective: by which call, into a poisoned buffer?, after how many fills of inputs?"""

    call: ToldCall
    poisoned: bool
    fills: int


@dataclass
class ToldCommunicator:
    """A world of one that keeps a diary."""

    clock: Clock
    seconds: float = 1e-3
    watched: str = "allreduce"
    idle: frozenset[int] = frozenset()
    """Runs, counted from 0, that do nothing at all."""
    rank: int = 0
    size: int = 1
    runs: list[Run] = field(default_factory=list)
    fills: int = 0

    def allocate(self, count: int, dtype: str) -> Array:
        return np.empty(count, DTYPES[dtype])

    def bind(self, collective: str, send: Array | None, recv: Array | None, **_: Any) -> Call:
        return ToldCall(self, collective, send, recv)

    def barrier(self) -> None: ...

    def overhead(self, iterations: int) -> Stamps:
        return np.zeros((iterations, 2), np.int64)

    def close(self) -> None: ...

    # As a backend.
    def open(self, *_: Any) -> Communicator:
        return cast(Communicator, self)


class NoStore:
    def __init__(self, *_: Any) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def comm(monkeypatch: pytest.MonkeyPatch) -> Iterator[ToldCommunicator]:
    told = ToldCommunicator(Clock())
    fill = suites.jobs.perf.Pattern.fill

    def counted(self: Any, view: Array, rank: int) -> None:
        told.fills += 1
        fill(self, view, rank)

    monkeypatch.setattr("suites.jobs.perf.time", told.clock)
    monkeypatch.setattr("suites.jobs.perf.backend_named", lambda name: told)
    monkeypatch.setattr("suites.jobs.perf.Store", NoStore)
    monkeypatch.setattr("suites.jobs.perf.Pattern.fill", counted)
    state = np.geterr()
    yield told
    np.seterr(**state)


def reports(
    *cases: Case, inject: Sequence[Mapping[str, Any]] = (), loop: int = 20, **given: Any
) -> tuple[list[dict[str, Any]], list[int]]:
    """What the job reports: its cases, and the iterations done at each progress."""
    told: list[dict[str, Any]] = []
    arguments = {
        "cases": [asdict(case) for case in cases or (CASE,)],
        "settings": asdict(replace(SETTINGS, loop=loop, **given)),
        "inject": inject,
    }
    run(RankContext(Placement(0, 1, 0, 1, 0, 1), arguments, "token", 1.0, "store", told.append))
    return (
        [report for report in told if report["type"] in ("case", "skipped")],
        [report["done"] for report in told if report["type"] == "progress"],
    )


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
    ((report,), progress) = reports(loop=1000, loop_asked=asked, ends=comm.clock.monotonic() + 1.005)
    assert (sum(report["runs"]), report["asked"], progress[-1]) == (iterations, 1000, iterations)


def test_a_budget_is_shared_by_the_cases_that_are_left(comm: ToldCommunicator) -> None:
    comm.seconds = 10e-3
    found, _ = reports(CASE, CASE, loop=1000, loop_asked=False, ends=comm.clock.monotonic() + 1.01)
    first, second = (sum(report["runs"]) for report in found)
    assert first == 45  # half of the second, less the warm-up
    assert 0 < second <= 50


@pytest.mark.parametrize("asked", [False, True])
def test_cases_beyond_the_budget_are_skipped_with_the_reason(comm: ToldCommunicator, asked: bool) -> None:
    comm.seconds = 0.1
    found, _ = reports(CASE, CASE, loop=20, loop_asked=asked, ends=comm.clock.monotonic() + (1.5 if asked else 0.4))
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
    assert report["ceiling_bytes"] == 4 * (2 << 20)  # half a set to the other, until 8 MiB are read and written
    assert report["ceiling"] == pytest.approx([1e-3] * 2 * REPEATS)


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
    monkeypatch.setattr("suites.jobs.perf.Arena.push_out", lambda arena: pushed.append(len(comm.runs)))
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
    with pytest.raises(suites.jobs.inject.InjectedError):
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
