"""The set-up of communicators in NCCL's log: who has begun it, and who is through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from suites.diagnose.evidence import nccl_log
from suites.diagnose.facts import Call, Group, Unread
from suites.diagnose.offline import diagnose
from suites.report import now
from tests.suites.diagnose.cases.case import label
from tests.suites.diagnose.evidence.feeding import fed, only

LINE = (
    "node0{rank}:1{rank}:2{rank} [0] NCCL INFO ncclCommInitRankConfig comm 0xaaa{rank} rank {rank} nranks 4 cudaDev 0 "
    "nvmlDev 0 busId 1b000 commId 0x5ca1ab1e - Init {state}\n"
)
SET_UP = "set-up of comm 0x5ca1ab1e"


def lines(begun: str, through: str = "") -> str:
    """Of the ranks in two strings of digits."""
    return "".join(
        LINE.format(rank=rank, state=state)
        for ranks, state in ((begun, "START"), (through, "COMPLETE"))
        for rank in ranks
    )


def verdict(folder: Path, text: str) -> dict[str, Any]:
    (folder / "job.log").write_text(text)
    told = diagnose([str(folder)], [], now()).record()["verdict"]
    assert isinstance(told, dict)
    return told


def test_a_set_up_is_a_call_of_the_communicators_members() -> None:
    facts = fed(nccl_log.NcclLog(), lines("01", "1"))
    told = {call.who.group_rank: call.state for call in only(facts, Call)}
    assert told == {0: "pending", 1: "done"}
    assert {(group.key, group.like) for group in only(facts, Group) if group.like} == {(SET_UP, "comm 0x5ca1ab1e")}


def test_older_versions_that_tell_no_beginning_tell_no_set_up() -> None:
    assert not only(fed(nccl_log.NcclLog(), lines("", "01")), Call)


def test_who_does_not_come_to_a_set_up_is_missing(tmp_path: Path) -> None:
    told = verdict(tmp_path, lines("013"))
    assert (told["class"], [label(one) for one in told["culprits"]]) == ("missing", ["rank 2"])
    assert told["collective"]["op"] == "init"


def test_a_set_up_of_all_that_does_not_end_names_nobody(tmp_path: Path) -> None:
    told = verdict(tmp_path, lines("0123"))
    assert (told["class"], told["culprits"]) == ("joined", [])


def test_who_alone_is_not_through_is_suspected(tmp_path: Path) -> None:
    told = verdict(tmp_path, lines("0123", "012"))
    assert (told["class"], [one["rank"] for one in told["suspects"]]) == ("undecided", [3])
    assert "rank 3 on node03 does not come through init" in told["explanation"]


def test_a_failure_of_ones_own_during_a_set_up_is_why(tmp_path: Path) -> None:
    failure = "node02:12:22 [0] misc/shmutils.cc:88 NCCL WARN Call to posix_fallocate failed: No space left on device\n"
    told = verdict(tmp_path, lines("0123") + failure)
    assert (told["class"], [label(one) for one in told["culprits"]]) == ("resource", ["host node02"])


@pytest.mark.parametrize(("end", "right"), [("", "undecided"), ("Destroy", "none")])
def test_a_log_that_tells_of_no_calls_shows_nothing_unless_communicators_came_to_their_end(
    tmp_path: Path, end: str, right: str
) -> None:
    ended = lines("0123").replace("- Init START", f"- {end} COMPLETE") if end else ""
    assert verdict(tmp_path, lines("0123", "0123") + ended)["class"] == right


def several(rank: int, text: str) -> str:
    """As a process says it that has all ranks."""
    return f"node01:11:2{rank} [{rank}] NCCL INFO {text}\n"


def opened(state: str) -> str:
    told = LINE.partition("NCCL INFO ")[2].strip()
    return "".join(several(rank, told.format(rank=rank, state=state)) for rank in range(4))


def test_ranks_of_one_process_are_not_taken_for_one(tmp_path: Path) -> None:
    assert verdict(tmp_path, opened("START"))["class"] == "joined"
    calls = "".join(
        several(
            rank,
            f"AllReduce: opCount {number} sendbuff 0x1 recvbuff 0x2 count 4 datatype 7 op 0 root 0 comm 0xaaa{rank} "
            "[nranks=4] stream 0x3",
        )
        for number in range(2)
        for rank in range(4)
        if (number, rank) != (1, 2)
    )
    told = verdict(tmp_path, opened("START") + opened("COMPLETE") + calls)
    assert (told["class"], [label(one) for one in told["culprits"]]) == ("missing", ["rank 2"])


def test_what_would_tell_of_calls_is_said() -> None:
    (told,) = only(fed(nccl_log.NcclLog(), lines("0", "0")), Unread)
    assert "NCCL_DEBUG_SUBSYS=INIT,COLL" in told.why
