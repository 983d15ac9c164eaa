"""Rings of a run that was ended from outside: ranks that were going on are no sign of anything."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collectives import ring
from collectives.ops import COLLECTIVES
from collectives.recorder import Named, Recorder
from collectives.schedule import Plan
from collectives.transport.base import CallTag
from suites.diagnose.evidence.rings import moving
from suites.diagnose.offline import diagnose
from suites.report import now
from suites.runfolder import Run, write
from suites.verdict import Fault, report, words

RANKS = 3


def taken(
    rank: int, begun: int, seconds: float, *, unnamed: int = 0, collective: str = "barrier", count: int = 0
) -> bytes:
    """The snapshot of a rank that is in its call number `begun` for so many seconds, and before that came to as many
    of groups without a name."""
    descriptor = ring.memory()
    assert descriptor is not None
    try:
        recorder = Recorder(rank, RANKS, descriptor)
        group = recorder.group("world", range(RANKS))
        named = Named(group, collective, "linear", "uint8", None, None, 0, 0)
        program = recorder.program(named, Plan(()), range(RANKS), rank)
        kind = list(COLLECTIVES).index(collective)
        for number in range(1, unnamed + 1):
            recorder.enter(CallTag(2, number, kind, 0, 0, 0, 0), 0, 0, 0)
        for number in range(1, begun + 1):
            record = recorder.enter(CallTag(1, number, kind, 0, 0, 0, count), group, program, 0)
            if number < begun:
                record.leave(None)
        data = ring.snapshot(descriptor)
    finally:
        os.close(descriptor)
    return later(data, seconds)


def later(data: bytes, seconds: float) -> bytes:
    """As if it had been taken so much later."""
    at = len(data) - ring.TRAILER.size
    mark, ticks, monotonic, realtime = ring.TRAILER.unpack_from(data, at)
    _, *start = ring.READING.unpack_from(data, ring.STARTED_AT)
    start_ticks, _, _ = ring.READING.unpack_from(data, ring.STARTED_AT)
    rate = (ticks - start_ticks) / max(monotonic - start[0], 1)
    more = round(seconds * 1e9)
    return data[:at] + ring.TRAILER.pack(mark, ticks + round(more * rate), monotonic + more, realtime + more)


def judged(folder: Path, rings: dict[int, bytes], going_on: list[int]) -> dict[str, Any]:
    started = datetime(2026, 1, 2, tzinfo=UTC).isoformat()
    run = Run(["opsdist", "perf"], started, ["node01"] * RANKS, {}, [], going_on)
    assert write(folder, run, rings) == folder
    verdict: dict[str, Any] = diagnose([str(folder)], ["opsdist"], now()).record()["verdict"]
    return verdict


@pytest.fixture
def rings() -> dict[int, bytes]:
    return {0: taken(0, 5, 60.0), 1: taken(1, 4, 60.0), 2: taken(2, 5, 60.0)}


def test_who_has_begun_or_ended_a_call_a_moment_ago_is_moving(rings: dict[int, bytes]) -> None:
    assert moving(rings) == []
    assert moving({**rings, 1: taken(1, 4, 0.0)}) == [1]
    assert moving({0: b"no ring", 1: Recorder(1, RANKS).memory[:]}) == []


def test_ranks_that_were_going_on_are_in_no_hang(tmp_path: Path, rings: dict[int, bytes]) -> None:
    assert judged(tmp_path, rings, [0, 1, 2])["class"] == "none"


def test_without_that_who_is_behind_is_named(tmp_path: Path, rings: dict[int, bytes]) -> None:
    verdict = judged(tmp_path, rings, [])
    assert (verdict["class"], [culprit["rank"] for culprit in verdict["culprits"]]) == ("stuck", [1])


def test_others_wait_all_the_same(tmp_path: Path, rings: dict[int, bytes]) -> None:
    """One that goes on says nothing for those that do not."""
    verdict = judged(tmp_path, rings, [2])
    assert [culprit["rank"] for culprit in verdict["culprits"]] == [1]


def test_what_one_run_says_of_its_ranks_is_nothing_to_another(tmp_path: Path, rings: dict[int, bytes]) -> None:
    (tmp_path / "yesterday").mkdir()
    (tmp_path / "yesterday" / "run.json").write_text('{"command": [], "started": "", "hosts": [], "moving": [0, 1, 2]}')
    assert judged(tmp_path / "today", rings, [])["class"] == "stuck"
    both = diagnose([str(tmp_path)], ["opsdist"], now()).record()
    assert both["verdict"]["class"] == "stuck"


@pytest.mark.parametrize("left", [ring.RECORDS_AT, ring.RECORDS_AT + 640, ring.NAMES_AT, ring.NAMES_AT + 40])
def test_a_ring_that_is_cut_shows_nothing(tmp_path: Path, rings: dict[int, bytes], left: int) -> None:
    """Neither that all is well, nor that its rank is behind."""
    record = whole(tmp_path / "alone", {1: rings[1][:left]})
    assert record["verdict"]["class"] == "undecided"
    assert "cut off" in record["sources"]["unread"][0]["why"]
    record = whole(tmp_path / "among", {**rings, 1: rings[1][:left]})
    assert (record["verdict"]["class"], record["verdict"]["culprits"]) == ("undecided", [])
    assert 1 in [suspect["rank"] for suspect in record["verdict"]["suspects"]]


def test_a_rank_that_is_in_a_call_of_an_unknown_group_is_not_behind(tmp_path: Path, rings: dict[int, bytes]) -> None:
    record = whole(tmp_path, {**rings, 1: taken(1, 4, 60.0, unnamed=1)})
    assert (record["verdict"]["class"], record["verdict"]["culprits"]) == ("undecided", [])
    assert "no room" in record["sources"]["unread"][0]["why"]


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        (Fault(1, "exit", "call 4", code=-9, signal=9, pid=71), ("crashed", [1])),
        (Fault(1, "failure", "call 4", error="ValueError", message="no such shard", pid=71), ("crashed", [1])),
        (Fault(1, "silent", "call 4", state="T (stopped)", pid=71), ("stuck", [1])),
        (Fault(0, "exit", "call 5", code=-11, signal=11, pid=70), ("crashed", [0])),
    ],
)
def test_what_was_seen_of_ranks_counts_in_a_run_that_was_kept(
    tmp_path: Path, rings: dict[int, bytes], fault: Fault, named: tuple[str, list[int]]
) -> None:
    """As it did when the run went wrong: without it, who is behind is blamed."""
    run = Run(["opsdist", "perf"], "", ["node01"] * RANKS, {0: 70, 1: 71, 2: 72}, [words(fault)], (), [report(fault)])
    assert write(tmp_path, run, rings) == tmp_path
    verdict = diagnose([str(tmp_path)], ["opsdist"], now()).record()["verdict"]
    assert (verdict["class"], [culprit["rank"] for culprit in verdict["culprits"]]) == named
    assert verdict["initiating"]["text"] == words(fault)


def test_a_barrier_is_no_allreduce_of_one_element(tmp_path: Path, rings: dict[int, bytes]) -> None:
    """Only torch makes one of the other, and it has no rings."""
    verdict = whole(tmp_path, {**rings, 1: taken(1, 5, 60.0, collective="allreduce", count=1)})["verdict"]
    assert verdict["class"] == "mismatch"
    assert [side["signature"] for side in verdict["sides"]] == ["barrier", "allreduce of 1 int8 sum"]


def test_what_has_no_count_is_not_said_to_move_nothing(tmp_path: Path, rings: dict[int, bytes]) -> None:
    uneven = taken(1, 5, 60.0, collective="alltoallv")
    verdict = whole(tmp_path, {**rings, 1: uneven})["verdict"]
    assert [side["signature"] for side in verdict["sides"]] == ["barrier", "alltoallv of int8"]


def whole(folder: Path, rings: dict[int, bytes]) -> dict[str, Any]:
    """The record of a diagnosis of these alone."""
    folder.mkdir(exist_ok=True)
    for rank, data in rings.items():
        (folder / f"rank-{rank}.ring").write_bytes(data)
    return diagnose([str(folder)], ["opsdist"], now()).record()
