"""The record of calls, and what ranks found to differ."""

from __future__ import annotations

import pytest

from suites.diagnose.facts import Call, Disagreement, Seen, Signature, Who
from tests.suites.diagnose.evidence.hccl_lines import facts, of, record

GROUP = "192.0.2.7%eth0_60000_0_1772352000000001"


def entry(name: str, fields: str, comm: str = "0xfffe38", pid: int = 31, group: str | None = GROUP) -> str:
    tag = f"{name}_{group}" if group else name
    ends = f"streamId[7],comm[{comm}], deviceLogicId[0]"
    text = f"Entry-Hccl{name}: tag[{tag}], sendBuf[0x12], recvBuf[0x13], {fields}, {ends}"
    return record(pid, text, level="INFO")


def test_calls_are_numbered_by_process_and_communicator() -> None:
    reduce = "count[1024], dataType[float32], op[sum], localRank[0]"
    other = GROUP.replace("0001", "0002")
    told = facts(
        "\n".join(
            [
                entry("AllReduce", reduce), entry("AllReduce", reduce, pid=32, comm="0xaaaa"),
                entry("AllReduce", reduce, comm="0xbbbb", group=other),
                entry("AllGather", "sendCount[4], dataType[int8], localRank[0]"),
            ]
        )
    )  # fmt: skip
    calls = [(call.who.pid, call.group, call.seq, str(call.signature), call.state) for call in of(Call, told)]
    assert calls == [
        (31, GROUP, 1, "allreduce of 1024 float32 sum", "entered"),
        (32, GROUP, 1, "allreduce of 1024 float32 sum", "entered"),
        (31, other, 1, "allreduce of 1024 float32 sum", "entered"),
        (31, GROUP, 2, "allgather of 4 int8", "entered"),
    ]
    assert [seen.who.pid for seen in of(Seen, told) if seen.verbose] == [31, 32]


def test_an_address_stands_for_the_communicator_whose_tag_came_with_it() -> None:
    broadcast = "count[8], dataType[float16], root[3], localRank[1]"
    told = facts("\n".join([entry("Broadcast", broadcast), entry("Broadcast", broadcast, group=None)]))
    assert [(call.group, call.seq, call.signature.root) for call in of(Call, told)] == [(GROUP, 1, 3), (GROUP, 2, 3)]


def test_an_address_of_which_nothing_is_known_is_left_out() -> None:
    reduce = "count[1024], dataType[float32], op[sum], localRank[0]"
    told = facts("\n".join([entry("AllReduce", reduce), entry("AllReduce", reduce, comm="0xdead", group=None)]))
    assert len(of(Call, told)) == 1


def test_sends_and_receives_are_counted_by_pair() -> None:
    send = entry("Send", "count[4], dataType[int8], destRank[2], localRank[1]")
    receive = entry("Recv", "count[4], dataType[int8], srcRank[0], localRank[1]")
    told = of(Call, facts("\n".join([send, receive, send])))
    assert [(call.seq, call.peer and call.peer.group_rank, call.peer_sends) for call in told] == [
        (1, 2, False), (1, 0, True), (2, 2, False),
    ]  # fmt: skip


def test_a_root_is_told_only_where_there_is_one() -> None:
    (call,) = of(Call, facts(entry("AllReduce", "count[1], dataType[int8], op[max], root[0], localRank[1]")))
    assert call.signature == Signature("allreduce", 1, "int8", "max")


@pytest.mark.parametrize(
    ("text", "aspect", "sides", "op"),
    [
        (("EI0005: The arguments for collective communication are inconsistent between ranks: tag "
         "[HcomAllReduce_6600000000000000123_0], parameter [count], local [9556480], remote [9555712]"),
         "count", ["count 9556480", "count 9555712"], "allreduce"),
        (record(31, f"CMD information tag check fail. local[AllGather_{GROUP}], remote[AllReduce_{GROUP}]"),
         "operation", ["allgather", "allreduce"], "allgather"),
    ],
)  # fmt: skip
def test_both_sides_of_a_disagreement(text: str, aspect: str, sides: list[str], op: str) -> None:
    (differ,) = of(Disagreement, facts(text, Who(host="node01")))
    assert (differ.aspect, [side.signature for side in differ.sides], differ.op) == (aspect, sides, op)
    assert differ.sides[0].members[0].host == "node01"
    assert differ.sides[1].members == ()
