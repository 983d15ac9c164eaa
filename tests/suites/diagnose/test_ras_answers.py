"""From answers of NCCL RAS to a verdict: who is behind is named only where it can be told."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from suites.diagnose.offline import diagnose

HEAD = "#0-0 (feedc0de12345678) MISMATCH\n  Communicator ranks have different AllGather operation counts\n"
WHERE = "-- GPU {0} managed by process 471{0} on node node01\n"


def verdict(folder: Path, *answers: str) -> dict[str, Any]:
    """Of as many looks."""
    for number, text in enumerate(answers):
        (folder / f"ras{number}.txt").write_text(text)
    told = diagnose([str(folder)], [], datetime(2026, 1, 2, tzinfo=UTC)).body["verdict"]
    assert isinstance(told, dict)
    return told


def named(told: dict[str, Any]) -> list[int]:
    return sorted(one.get("rank", one.get("group_rank")) for one in (*told["culprits"], *told["suspects"]))


BEHIND = HEAD + "  7 ranks have launched up to operation 60\n  1 rank has launched up to operation 59\n  Rank 3 "


def test_the_one_that_is_behind_in_two_looks_is_missing(tmp_path: Path) -> None:
    told = verdict(tmp_path, BEHIND + WHERE.format(3), BEHIND + WHERE.format(3))
    assert (told["class"], named(told)) == ("missing", [3])
    assert told["waiting"] == [0, 1, 2, 4, 5, 6, 7]


def test_where_those_behind_cannot_be_told_from_others_nobody_is_named(tmp_path: Path) -> None:
    text = (
        HEAD + "  6 ranks have launched up to operation 60\n  1 rank has launched up to operation 59\n"
        "  1 rank has launched up to operation 61\n  Rank 5 " + WHERE.format(5)
    )
    told = verdict(tmp_path, text, text)
    assert (told["class"], named(told)) == ("undecided", [])


def test_where_some_do_not_answer_who_is_not_listed_is_not_known(tmp_path: Path) -> None:
    lacking = "#0-0 (feedc0de12345678) INCOMPLETE\n  Missing communicator data from 1 rank\n\n"
    text = lacking + HEAD + "  6 ranks have launched up to operation 60\n  1 rank has launched up to operation 59\n"
    told = verdict(tmp_path, text, text)
    assert (told["class"], named(told)) == ("undecided", [])
    assert verdict(tmp_path, lacking, lacking)["class"] == "undecided"


def test_a_process_that_does_not_answer_is_the_rank_that_does_not(tmp_path: Path) -> None:
    text = (
        "INCOMPLETE\n  Missing communicator data from 1 job process\n  Process 812 on node node04 managing GPU 3\n\n"
        "#0-0 (feedc0de12345678) INCOMPLETE\n  Missing communicator data from 1 rank\n  The missing rank: 7\n\n"
        + HEAD
        + "  7 ranks have launched up to operation 60\n"
    )
    told = verdict(tmp_path, text)
    assert (told["class"], named(told), len(told["culprits"])) == ("missing", [7], 1)
    assert told["culprits"][0]["host"] == "node04"


TABLE = (
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    0         1         2         4         8         8   RUNNING  INCOMPLETE\n\n"
)


@pytest.mark.parametrize(("table", "right"), [(TABLE, "missing"), ("", "undecided")])
def test_a_rank_that_does_not_answer_is_missing_where_it_is_told_who_else_there_is(
    tmp_path: Path, table: str, right: str
) -> None:
    lacking = "#0-0 (feedc0de12345678) INCOMPLETE\n  Missing communicator data from 1 rank\n  The missing rank: 7\n"
    assert verdict(tmp_path, table + lacking)["class"] == right


def test_ranks_in_different_states_do_not_show_that_nothing_is_wrong(tmp_path: Path) -> None:
    text = HEAD.replace("AllGather operation counts", "status") + "  7 ranks have status RUNNING\n"
    assert verdict(tmp_path, text + "  Rank 5 has status ABORT " + WHERE.format(5))["class"] == "undecided"


@pytest.mark.parametrize("where", ["peer", "process", "details", None])
def test_a_process_that_is_dead_comes_before_a_failed_transfer(tmp_path: Path, where: str | None) -> None:
    (tmp_path / "job.log").write_text(
        "node09:812:820 [1] transport/net_ib.cc:839 NCCL WARN NET/IB : Got completion with error 12, opcode 1\n"
    )
    who = {"host": "node01", "pid": 4711, "cuda_dev": 2}
    told = verdict(tmp_path, json.dumps({"event": "PEER_DEAD", **(who if where is None else {where: who})}))
    assert told["class"] == "crashed"
    assert [(one["host"], one["device"]) for one in told["culprits"]] == [("node01", "gpu2")]


def test_an_object_that_is_no_answer_is_told(tmp_path: Path) -> None:
    (tmp_path / "ras.json").write_text('{"collective_counts": {}}')
    told = diagnose([str(tmp_path)], [], datetime(2026, 1, 2, tzinfo=UTC)).record()
    assert told["verdict"]["class"] == "undecided"
    assert [one["why"] for one in told["sources"]["unread"]] == ["no answer of NCCL RAS"]
