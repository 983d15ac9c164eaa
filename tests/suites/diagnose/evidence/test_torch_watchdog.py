"""Time-outs that watchdogs of torch report, in the words of every version: who waits in which call of which group."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.torch_watchdog import Watchdog
from suites.diagnose.facts import NOBODY, Call, Group, Level, Signature, Track, Trouble, Who
from tests.suites.diagnose.evidence.torch_lines import of, told

OLDEST = (
    "  what():  [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(OpType=BROADCAST, Timeout(ms)=70000) "
    "ran for 70511 milliseconds before timing out."
)
NUMBERED = (
    "[E ProcessGroupNCCL.cpp:455] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=51, "
    "OpType=ALLREDUCE, Timeout(ms)=900000) ran for 900118 milliseconds before timing out."
)
SIZED = (
    "[rank2]:[E611 03:04:05.678901234 ProcessGroupNCCL.cpp:607] [Rank 2] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=51, OpType=ALLREDUCE, NumelIn=640, NumelOut=640, Timeout(ms)=900000) ran for 900118 milliseconds"
)
ASCEND = (
    "[rank2]:[E611 03:04:05.678901234 compiler_depend.ts:571] [Rank 2] Watchdog caught collective operation timeout: "
    "WorkHCCL(SeqNum=51, OpType=ALLREDUCE, Timeout(ms)=900000) ran for 900118 milliseconds before"
)
STATUS_2_3 = (
    "[rank6]:[E ProcessGroupNCCL.cpp:1537] [PG 4 Rank 2] Timeout at NCCL work: 51, last enqueued NCCL work: 53, "
    "last completed NCCL work: 50."
)
STATUS_2_5 = (
    "[rank6]:[E611 03:04:05.7 ProcessGroupNCCL.cpp:1785] [PG ID 4PG GUID 4(tensor) Rank 2] Exception (either an error "
    "or timeout) detected by watchdog at work: 51, last enqueued NCCL work: 53, last completed NCCL work: 50."
)
STATUS_2_6 = (
    "[rank6]:[E611 03:04:05.7 ProcessGroupNCCL.cpp:2168] [PG ID 4 PG GUID 4(tensor) Rank 2]  failure detected by "
    "watchdog at work sequence id: 51 PG status: last enqueued work: 53, last started work: -1, last completed work: 50"
)
IN_GROUP = SIZED.replace("[rank2]", "[rank6]")
MEMBER = Who(rank=6, group="4", group_rank=2)


@pytest.mark.parametrize(
    ("line", "rank", "seq", "signature"),
    [
        (OLDEST, None, None, Signature("broadcast")),
        (NUMBERED, None, 51, Signature("allreduce")),
        (SIZED, 2, 51, Signature("allreduce", 640)),
        (ASCEND, 2, 51, Signature("allreduce")),
        (SIZED.replace("WorkNCCL", "WorkXCCL"), 2, 51, Signature("allreduce", 640)),
        (SIZED.replace("NumelOut", "Numel Out").replace("OpType", "OpTy pe"), 2, 51, Signature("allreduce", 640)),
    ],
)
def test_a_group_that_is_not_named_may_be_the_world(
    line: str, rank: int | None, seq: int | None, signature: Signature
) -> None:
    (call,) = of(Call, told(Watchdog(), line))
    assert (call.who, call.group) == (Who(rank=rank, group="default", group_rank=2), "default")
    assert (call.seq, call.signature, call.state) == (seq, signature, "pending")


def test_it_is_not_the_world_where_the_rank_in_it_is_another() -> None:
    calls = of(Call, told(Watchdog(), "\n".join((IN_GROUP, SIZED.replace("[rank2]", "[rank9]")))))
    assert [call.who.rank for call in calls] == [6, 9]
    assert len({call.group for call in calls} | {"default"}) == 3


@pytest.mark.parametrize("status", [STATUS_2_3, STATUS_2_5, STATUS_2_6])
@pytest.mark.parametrize("status_first", [False, True])
def test_the_status_of_the_same_rank_and_number_names_the_group(status: str, status_first: bool) -> None:
    lines = [status, IN_GROUP] if status_first else [IN_GROUP, status]
    facts = told(Watchdog(), "\n".join(lines))
    (call,) = of(Call, facts)
    assert (call.who, call.group, call.seq, call.signature) == (MEMBER, "4", 51, Signature("allreduce", 640))
    assert call.place.line == lines.index(IN_GROUP) + 1
    (track,) = of(Track, facts)
    assert (track.who, track.group, track.enqueued, track.completed) == (MEMBER, "4", 53, 50)


def test_ranks_of_the_default_group_are_those_of_the_world() -> None:
    line = STATUS_2_6.replace("[rank6]:", "").replace("4 PG GUID 4(tensor)", "0 PG GUID 0(default_pg)")
    (track,) = of(Track, told(Watchdog(), line))
    assert track.who == Who(rank=2, group="0", group_rank=2)


def test_a_repeat_names_the_group_too_and_is_no_second_complaint() -> None:
    repeat = (
        "[rank6]:[E ProcessGroupNCCL.cpp:1414] [PG 4 Rank 2] Process group watchdog thread terminated with exception: "
    )
    facts = told(
        Watchdog(), "\n".join((IN_GROUP, repeat + IN_GROUP[IN_GROUP.index("[Rank") :], "  what():  " + IN_GROUP))
    )
    assert {(call.who, call.group, call.seq) for call in of(Call, facts)} == {(MEMBER, "4", 51)}
    (trouble,) = of(Trouble, facts)
    assert (trouble.level, trouble.cause, trouble.about) == (Level.TIMEOUT, None, ())
    assert trouble.what == "allreduce #51 did not end within 900 s"


def test_a_status_alone_tells_that_something_is_under_way() -> None:
    (call,) = of(Call, told(Watchdog(), STATUS_2_6))
    assert (call.seq, call.signature.op, call.state) == (51, "unknown", "pending")


@pytest.mark.parametrize(
    ("enqueued", "completed", "expected"),
    [("53", "-1", (53, 0)), ("-1", "-1", (0, 0)), ("1", "76280750235782912", (1, None)), ("1", "9", (1, None))],
)
def test_what_was_never_counted(enqueued: str, completed: str, expected: tuple[int, int | None]) -> None:
    line = STATUS_2_3.replace("work: 53", f"work: {enqueued}").replace("work: 50", f"work: {completed}")
    (track,) = of(Track, told(Watchdog(), line))
    assert (track.enqueued, track.completed) == expected


def test_who_is_told_to_dump_tells_how_far_it_came() -> None:
    line = (
        "[rank5]:[E611 03:05:01.1 ProcessGroupNCCL.cpp:1730] [PG ID 0 PG GUID 0(default_pg) Rank 5] Received a dump "
        "signal due to a collective timeout from rank 2 and we will try our best to dump the debug info. "
        "Last enqueued NCCL work: 50, last completed NCCL work: 50.This is most likely caused by ..."
    )
    facts = told(Watchdog(), line)
    (track,) = of(Track, facts)
    assert (track.who.rank, track.enqueued, track.completed) == (5, 50, 50)
    assert not of(Call, facts)


@pytest.mark.parametrize(
    ("op", "numel_in", "numel_out", "size"),
    [
        ("_ALLGATHER_BASE", 8, 96, 12),
        ("_REDUCE_SCATTER_BASE", 96, 8, 12),
        ("_ALLGATHER_BASE", 8, 97, 3),
        ("ALLREDUCE", 8, 8, 3),
        ("_ALLGATHER_BASE", 8, 8 << 40, None),
    ],
)
def test_sizes_tell_how_large_a_group_is_and_else_the_rank_how_large_at_least(
    op: str, numel_in: int, numel_out: int, size: int | None
) -> None:
    line = IN_GROUP.replace("ALLREDUCE", op).replace("NumelIn=640", f"NumelIn={numel_in}")
    group = of(Group, told(Watchdog(), line.replace("NumelOut=640", f"NumelOut={numel_out}")))[-1]
    assert (group.size, group.least) in ((size, None), (None, size))


def test_a_gather_without_output_is_not_the_root() -> None:
    line = IN_GROUP.replace("ALLREDUCE", "GATHER").replace("NumelOut=640", "NumelOut=0")
    (trouble,) = of(Trouble, told(Watchdog(), line))
    assert trouble.what.endswith("this rank is not its root")


def test_a_watchdog_that_came_much_too_late_was_frozen() -> None:
    facts = told(Watchdog(), SIZED.replace("ran for 900118", "ran for 9000118"))
    assert [trouble.known_as for trouble in of(Trouble, facts)] == ["torch.watchdog", "torch.watchdog_late"]
    assert {trouble.level for trouble in of(Trouble, facts)} == {Level.TIMEOUT}


@pytest.mark.parametrize(("op", "word", "peer_sends"), [("SEND", "send", False), ("RECV", "recv", True)])
def test_messages_have_a_peer_whom_nobody_names(op: str, word: str, peer_sends: bool) -> None:
    (call,) = of(Call, told(Watchdog(), SIZED.replace("ALLREDUCE", op)))
    assert (call.signature.op, call.peer, call.peer_sends) == (word, NOBODY, peer_sends)


def test_the_stack_of_the_failed_call_says_where_in_the_program_it_stands() -> None:
    stack = (
        "[rank6]:[E611 03:04:05.8 ProcessGroupNCCL.cpp:801] Stack trace of the failed collective: \n"
        "#0 all_reduce from /opt/venv/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py:2501\n"
        "#1 reduce_loss from /home/ann/train.py:77\n#2 main from /home/ann/train.py:120"
    )
    calls = of(Call, told(Watchdog(), "\n".join((IN_GROUP, STATUS_2_6, stack))))
    assert [call.frame for call in calls] == [None, "/home/ann/train.py:77 reduce_loss"]
    assert calls[0].seq == calls[1].seq == 51
