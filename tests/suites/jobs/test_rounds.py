"""Backends that take turns, on a world of one whose clock is told: who runs when, and what is left of a drift."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

from suites.jobs.ceiling import BRIEF_REPETITIONS
from suites.jobs.settings import BATCH_SECONDS, CHUNK_SECONDS, MOST_PASSES
from tests.suites.jobs.told import CASE, Clock, ToldCommunicator, job, reports, tell

A, B, C = (replace(CASE, backend=name) for name in "abc")


@pytest.fixture
def comms(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ToldCommunicator]]:
    """Three backends with one clock and one diary."""
    clock, diary = Clock(), list[str]()
    told = [ToldCommunicator(clock, name=name, diary=diary) for name in "abc"]
    tell(monkeypatch, *told)
    state = np.geterr()
    yield told
    np.seterr(**state)


def turns(diary: list[str]) -> list[tuple[str, int]]:
    """Who ran how often at a stretch."""
    return [(name, len(list(runs))) for name, runs in groupby(diary)]


def test_passes_go_there_and_back_each_after_a_run_that_nobody_times(comms: list[ToldCommunicator]) -> None:
    """Two iterations a pass and the untimed one; where the order turns, two passes at a stretch."""
    found, _ = reports(A, B, C, rounds=[[0, 1, 2]], loop=16)
    there, back = [("b", 3), ("c", 5)], [("b", 3), ("a", 5)]
    assert turns(comms[0].diary) == [
        ("a", 5), ("b", 5), ("c", 5), ("a", 3), *(there + back) * 3, *there, ("b", 3), ("a", 3),
    ]  # fmt: skip
    for report in found:
        assert (report["runs"], report["passes"], report["round"]) == ([1] * 16, [2] * MOST_PASSES, 0)


def test_nobody_turns_away_before_all_ranks_are_through(comms: list[ToldCommunicator]) -> None:
    """A library may go on only while it is called, so a barrier of its own ends each pass; and one ends the round."""
    reports(A, B, rounds=[[0, 1]], loop=2)
    assert [comm.barriers for comm in comms[:2]] == [[0, 7, 9, 9, 9], [0, 7, 8, 8]]


def test_every_member_is_checked_in_its_first_and_its_last_iteration(comms: list[ToldCommunicator]) -> None:
    found, _ = reports(A, B, rounds=[[0, 1]], loop=16)
    assert [(report["checked"], report["failed"]) for report in found] == [(2, 0), (2, 0)]
    for comm in comms[:2]:
        poisoned = [number for number, told in enumerate(comm.runs) if told.poisoned]
        # After the warm-up and the untimed run; the last of all.
        assert poisoned == [6, len(comm.runs) - 1]


def test_of_a_machine_that_drifts_the_turns_leave_nothing(comms: list[ToldCommunicator]) -> None:
    """Two that are alike, while everything takes twice as long after 50 ms, and three times as long after 100."""
    ratios = {}
    for name, rounds in (("turns", [[0, 1]]), ("one by one", [[0], [1]])):
        comms[0].clock.now = 10**9
        for comm in comms[:2]:
            comm.drift = 20.0
        first, second = (np.diff(np.asarray(report["stamps"])) for report in reports(A, B, rounds=rounds, loop=24)[0])
        ratios[name] = np.median(second) / np.median(first)
    assert ratios["one by one"] > 1.5
    assert 1 / 1.1 < ratios["turns"] < 1.1


@pytest.mark.parametrize(("loop", "passes"), [(1, [1]), (3, [1, 1, 1]), (9, [1] * 7 + [2]), (20, [2, 3] * 4)])
def test_few_iterations_make_few_passes(comms: list[ToldCommunicator], loop: int, passes: list[int]) -> None:
    found, progress = reports(A, B, rounds=[[0, 1]], loop=loop)
    assert [report["passes"] for report in found] == [passes] * 2
    assert sorted(progress)[-2:] == [loop, loop]


def test_back_to_back_whole_batches_are_handed_round(comms: list[ToldCommunicator]) -> None:
    """The one that has fewer batches sets the number of passes, so that they stay pairs."""
    comms[0].seconds, comms[1].seconds = BATCH_SECONDS / 2, BATCH_SECONDS / 20
    first, second = reports(A, B, rounds=[[0, 1]], loop=90, sync="none")[0]
    assert (first["batch"], first["runs"], first["passes"]) == (2, [2] * 45, [9] * 5)
    assert (second["batch"], second["runs"], second["passes"]) == (20, [20, 20, 20, 20, 10], [1] * 5)


def test_what_is_long_is_not_run_untimed_before_each_pass(comms: list[ToldCommunicator]) -> None:
    for comm in comms:
        comm.seconds = 2 * CHUNK_SECONDS
    reports(A, B, rounds=[[0, 1]], loop=4)
    assert turns(comms[0].diary) == [("a", 5), ("b", 5), ("a", 1), ("b", 2), ("a", 2), ("b", 2), ("a", 1)]


def test_one_alone_goes_through_its_loop_at_one_go(comms: list[ToldCommunicator]) -> None:
    first, second = reports(A, B, loop=16)[0]
    assert turns(comms[0].diary) == [("a", 21), ("b", 21)]
    assert [(report["passes"], report["round"]) for report in (first, second)] == [([16], 0), ([16], 1)]


def test_when_one_cannot_be_believed_all_take_their_turns_again(comms: list[ToldCommunicator]) -> None:
    """A copy of 8 MiB takes a millisecond here; a MiB read and written in 10 us is faster than that."""
    comms[1].seconds = 10e-6
    large = [replace(case, count=1 << 18) for case in (A, B)]
    found, _ = reports(*large, rounds=[[0, 1]], loop=8)
    assert [report["again"] for report in found] == [True, True]
    assert [report["runs"] for report in found] == [[1] * 8] * 2
    assert len(comms[0].runs) == 5 + 2 * (8 + 5)


def test_each_is_measured_against_a_ceiling_of_its_own(comms: list[ToldCommunicator]) -> None:
    large = [replace(case, count=1 << 18) for case in (A, B)]
    found, _ = reports(*large, rounds=[[0, 1]], loop=8)
    assert [len(report["ceiling"]) for report in found] == [2 * BRIEF_REPETITIONS] * 2


def test_the_budget_is_shared_by_all_cases_that_are_left(comms: list[ToldCommunicator]) -> None:
    for comm in comms:
        comm.seconds = 10e-3
    found, _ = reports(A, B, C, rounds=[[0, 1], [2]], loop=1000, loop_asked=False, budget=2.0)
    first, second, third = (sum(report["runs"]) for report in found)
    # A third of two seconds each, less the warm-ups.
    assert first == second == pytest.approx(61, abs=1)
    assert 30 < third < 65


def test_a_round_beyond_the_budget_is_skipped_as_a_whole(comms: list[ToldCommunicator]) -> None:
    found, _ = reports(A, B, rounds=[[0, 1]], budget=0.0)
    assert [(report["type"], report["index"]) for report in found] == [("skipped", 0), ("skipped", 1)]
    assert not comms[0].diary


def test_a_change_of_turns_is_told_before_it_happens(comms: list[ToldCommunicator]) -> None:
    """So that a fault is reported with whose turn it was."""
    told = job(A, B, rounds=[[0, 1]], loop=2)
    phases = [report["phase"] for report in told if report["type"] == "phase"]
    first, second = (f"case {index} (allreduce any, 4000 bytes, float32, out of place)" for index in (0, 1))
    # Prepared, begun, two passes there and back, ended.
    assert phases[2:-1] == [first, second] * 2 + [first, second, first] + [second]


@pytest.mark.parametrize("at", ["first", "middle", "15"])
def test_an_injected_wrong_element_is_found_in_every_member(comms: list[ToldCommunicator], at: str) -> None:
    found, _ = reports(A, B, rounds=[[0, 1]], loop=16, inject=[{"fault": "corrupt", "rank": 0, "at": at}])
    assert [(report["wrong"]["count"], report["failed"]) for report in found] == [(1, 1), (1, 1)]


def test_a_wrong_result_of_one_is_no_fault_of_the_other(comms: list[ToldCommunicator]) -> None:
    comms[1].idle = frozenset(range(1000))
    first, second = reports(A, B, rounds=[[0, 1]], loop=4)[0]
    assert (first["wrong"], first["failed"]) == (None, 0)
    assert second["failed"] == second["checked"] > 2


@pytest.mark.parametrize(("buffers", "taken"), [("registered", 1), ("private", 0)])
def test_private_buffers_are_not_the_backends(comms: list[ToldCommunicator], buffers: str, taken: int) -> None:
    reports(A, loop=1, buffers=buffers)
    assert comms[0].allocated.count("float32") == taken


def test_each_backend_says_what_it_is_and_costs(comms: list[ToldCommunicator]) -> None:
    comms[1].library, comms[1].transport = "B 2.0", "wire"
    ready = [report for report in job(A, B, loop=1, rounds=[[0, 1]]) if report["type"] == "ready"]
    assert [[report[key] for key in ("backend", "library", "transport")] for report in ready] == [
        ["a", "told 1.0", "none"],
        ["b", "B 2.0", "wire"],
    ]
    assert all(report["overhead"] and report["latency"] for report in ready)
