"""Tasks that failed: which call, and for whom it waits. Ranks of a group are not ranks of the world."""

from __future__ import annotations

import itertools

import pytest

from suites.diagnose.facts import Call, Group, Identity, Signature, Trouble, Waiting, Who
from tests.suites.diagnose.evidence.hccl_lines import facts, of, record

GROUP = "192.0.2.7%enp_60000_0_1772352000000001"
BASE = f"base information is streamID:[2], taskID[21], taskType[Notify Wait], tag[AllReduce_{GROUP}], AlgType:[ring]."
PARTS = (
    "para information is notify id:[0x10], stage:[1], remote rank:[3].",
    f"groupRank information is group:[{GROUP}], user define information[], rankSize[4], rankId[2].",
    (
        "opData information is timeStamp:[2026-03-01-07:29:24.000.000], deviceId[2], index[21], count[256], "
        "reduceType[sum], src[0x12], dst[0x13], dataType[float32]."
    ),
)
OWN = Who(pid=31, group=GROUP, group_rank=2)


def failed(pid: int, part: str) -> str:
    return record(pid, f"[TaskExecStage][Timeout][Host]Task run failed, {part}")


@pytest.mark.parametrize("order", list(itertools.permutations(PARTS)))
def test_parts_in_any_order_are_one_call(order: tuple[str, ...]) -> None:
    told = facts("\n".join(failed(31, part) for part in (BASE, *order)))
    (call,) = of(Call, told)
    assert (call.who, call.group, call.seq, call.state) == (OWN, GROUP, 21, "pending")
    assert call.signature == Signature("allreduce", 256, "float32", "sum")
    assert call.entered == 1772350164.0
    assert [(fact.who, fact.on, fact.seq) for fact in of(Waiting, told)] == [
        (OWN, (Who(group=GROUP, group_rank=3),), 21)
    ]
    assert [(fact.key, fact.size) for fact in of(Group, told)] == [(GROUP, 4)]


def test_parts_of_two_processes_are_kept_apart() -> None:
    theirs = [part.replace("rankId[2]", "rankId[0]").replace("remote rank:[3]", "remote rank:[1]") for part in PARTS]
    lines = [failed(31, BASE), failed(32, BASE)]
    for mine, other in zip(PARTS, theirs, strict=True):
        lines += [failed(32, other), failed(31, mine)]
    told = facts("\n".join(lines))
    assert sorted((fact.who.group_rank, fact.on[0].group_rank) for fact in of(Waiting, told)) == [(0, 1), (2, 3)]


def test_a_new_base_ends_what_was_before() -> None:
    told = facts("\n".join([failed(31, BASE), failed(31, BASE.replace("AllReduce", "AllGather"))]))
    assert [call.signature.op for call in of(Call, told)] == ["allreduce", "allgather"]


CODED = (
    "EI0002: [PID: 2969] 2026-03-01-08:00:00.713.335 The wait execution of the Notify register times out. Reason: The "
    "Notify register has not received the Notify record from remote rank: [24]. base information: [streamID:[109], "
    "taskID[38], taskType[Notify Wait], tag[AllReduce_group_name_16NHRAllReduceComm_device], AlgType(level 0-1-2):"
    "[ring-NHR-NHR].]. task information: [notify id:[0x0000000000000213], stage:[0], remote rank:[24]]. group "
    "information: [group:[group_name_16], user define information[Unspecified], rankSize[32], rankId[25 24]]"
)


def test_a_block_joins_the_rank_of_the_world_and_of_the_group() -> None:
    told = facts(
        "[ERROR] 2026-03-01-08:00:00 (PID:2969, Device:0, RankID:101) ERR00100 PTA call acl api failed.\n" + CODED
    )
    assert Who(rank=101, pid=2969, device="npu0") in [fact.who for fact in of(Identity, told)]
    (waiting,) = of(Waiting, told)
    assert waiting.who == Who(pid=2969, group="group_name_16", group_rank=25)
    assert waiting.on == (Who(group="group_name_16", group_rank=24),)
    assert waiting.op == "allreduce"


def test_a_rank_that_is_nobody_is_not_waited_for() -> None:
    told = facts(
        "EI0002: The wait execution of the Notify register times out. Reason: The Notify register has not received the "
        "Notify record from remote rank [4294967295].base information: [streamID:[1], taskID[39], taskType[Notify "
        f"Wait], tag[AllReduce_{GROUP}].] task information: [notify id:[0x05], stage:[0], remote rank:[local].]"
    )
    assert not of(Waiting, told)
    (call,) = of(Call, told)
    assert (call.group, call.signature.op, call.who) == (GROUP, "allreduce", Who())


def test_a_copy_that_failed_waits_for_nobody() -> None:
    told = facts(
        "[PID: 31] 2026-03-01-08:00:00.250.000 Execution_Error_SDMA(EI0012): SDMA memory copy task exception occurred. "
        "Remote rank: [4800]. Base information: [streamID:[1], taskID[5], taskType[Memcpy], tag[], AlgType:"
        "[null].]. Task information: [src:[0x1], dst:[0x2], size:[0x80], notify id:[0xff], link type:[HCCS], remote "
        "rank:[0]]. Communicator information: [group:[], user define information[], rankSize[0], rankId[0]]."
    )
    assert not of(Waiting, told)
    assert not of(Call, told)
    assert not of(Group, told)


def test_a_copy_in_a_known_communicator_waits_for_nobody() -> None:
    base = BASE.replace("Notify Wait", "Memcpy")
    told = facts("\n".join(failed(31, part) for part in (base, *PARTS)))
    assert [call.seq for call in of(Call, told)] == [21]
    assert not of(Waiting, told)


def test_ranks_of_a_communicator_of_which_nothing_is_known_are_nobody() -> None:
    told = facts(CODED.replace("group:[group_name_16]", "group:[]").replace("rankSize[32]", "rankSize[0]"))
    assert not of(Waiting, told)
    assert [call.who.group_rank for call in of(Call, told)] == [None]


GRAPH = (
    f"op information is streamID:[2], taskID[21], tag[AllReduce_{GROUP}], AlgType(level 0-1-2):[fullmesh-ring-ring].",
    "context base information is streamID:[2], taskID[21], taskType[Notify Wait].",
    f"context para information is notify id:[0x10], stage:[1], remote rank:[3], tag[AllReduce_{GROUP}].",
    PARTS[1].replace("rankId[2]", "rankId[2], peerRankId[3]"),
    PARTS[2],
)


def test_a_task_of_a_graph_on_the_npu_is_one_call() -> None:
    lines = [record(31, f"[TaskExceptionHandler][Callback]FFTS+ run failed, {part}") for part in GRAPH]
    told = facts("\n".join(lines))
    (call,) = of(Call, told)
    assert (call.who, call.group, call.seq, call.signature) == (
        OWN, GROUP, 21, Signature("allreduce", 256, "float32", "sum")
    )  # fmt: skip
    assert [fact.on for fact in of(Waiting, told)] == [(Who(group=GROUP, group_rank=3),)]
    assert [trouble.known_as for trouble in of(Trouble, told)] == ["hccl.task_failed"]


def test_two_tasks_of_a_graph_are_two_calls() -> None:
    parts = [*GRAPH[:2], GRAPH[3], *(part.replace("AllReduce", "AllGather") for part in GRAPH)]
    told = facts("\n".join(record(31, f"FFTS+ run failed, {part}") for part in parts))
    assert [(call.signature.op, call.who) for call in of(Call, told)] == [("allreduce", OWN), ("allgather", OWN)]


def test_names_and_values_with_a_colon() -> None:
    told = facts(
        "\n".join(
            failed(31, part)
            for part in (
                "base information is streamId:89, sqid:89, head:1, tail:1, type:NOTIFY WAIT, localRank:1, remoteRank:0",
                "groupRank information is group:group_name_28, rankSize:4, localRank:1",
                "opData information is tag:AllReduce_group_name_28, group:group_name_28, opIndex:13004",
            )
        )
    )
    own = Who(pid=31, group="group_name_28", group_rank=1)
    assert [(call.who, call.seq, call.signature.op) for call in of(Call, told)] == [(own, 13004, "allreduce")]
    assert [fact.on for fact in of(Waiting, told)] == [(Who(group="group_name_28", group_rank=0),)]
