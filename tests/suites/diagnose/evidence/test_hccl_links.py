"""Ranks that do not find each other: who waits for whom, who never reported, and who is set up otherwise."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.hccl_speech import UNNAMED
from suites.diagnose.facts import Absent, Fact, Level, Trouble, Waiting, Who
from tests.suites.diagnose.evidence.hccl_lines import facts, of, record

COMMUNICATOR = "192.0.2.7%eth0_60000_0_1772352000000001"
ENTRY = record(
    31,
    "Entry-HcclCommInitRootInfoInner:ranks[{size}], rank[{rank}], rootinfo: host ip[192.0.2.7] port[60000] "
    f"nicDeploy[1] identifier[{COMMUNICATOR}], deviceLogicId[2]",
    level="INFO",
)


def entry(rank: int = 0, size: int = 8) -> str:
    return ENTRY.format(rank=rank, size=size)


def ranks(people: tuple[Who, ...]) -> list[int | None]:
    return [who.group_rank for who in people]


def waits(told: list[Fact]) -> list[tuple[Who, list[Who], str | None]]:
    return [(fact.who, list(fact.on), fact.op) for fact in of(Waiting, told)]


def test_ranks_that_are_not_in_the_roots_list_are_absent() -> None:
    told = facts(
        "\n".join(
            [
                entry(),
                record(31, "[DisplayConnectionedRank]total connected num is [10],line num is [2]"),
                record(31, "[DisplayConnectionedRank]need connect rankNum is [12]"),
                record(31, "connected rankinfo[LINE 0]: " + ",".join(f"[{rank:016}]" for rank in range(8)) + ";"),
                record(31, "connected rankinfo[LINE 1]: [0000000000000009],[0000000000000011];"),
            ]
        )
    )
    (absent,) = of(Absent, told)
    assert (absent.group, ranks(absent.absent), ranks(absent.present)) == (COMMUNICATOR, [8, 10], [*range(8), 9, 11])
    assert absent.by.pid == 31


def test_of_a_list_that_is_cut_off_nobody_is_absent() -> None:
    told = facts(
        "\n".join(
            [
                record(31, "[DisplayConnectionedRank]total connected num is [10],line num is [2]"),
                record(31, "[DisplayConnectionedRank]need connect rankNum is [12]"),
                record(31, "connected rankinfo[LINE 0]: [0000000000000000],[0000000000000001];"),
            ]
        )
    )
    assert not of(Absent, told)


def test_the_root_tells_the_others_who_did_not_report() -> None:
    told = facts(record(32, 'TopoDetect ERROR occur !!! fault_type[1], fault_info["Failed to connect agent[1,3,]"]'))
    (absent,) = of(Absent, told)
    assert (ranks(absent.absent), absent.by.pid) == ([1, 3], 32)


def test_a_rank_that_cannot_reach_the_root_waits_for_it() -> None:
    (waiting,) = of(Waiting, facts(record(33, "TopoExchangeAgent: connect server[192.0.2.7 : 60000] failed")))
    assert (waiting.who.pid, waiting.on) == (33, (Who(address="192.0.2.7"),))


@pytest.mark.parametrize(
    "row",
    [
        "   |  198.51.100.9(0)   |  16666  |   198.51.100.8(1)   |  3234403008  |  client  | time out | DISABLE | Link",
        "|  198.51.100.9(0)  |  198.51.100.8(1)  |  server  |  no connect  | ",
    ],
)
def test_a_row_of_failed_connections(row: str) -> None:
    told = facts(f"{entry(rank=1)}\n{record(31, row)}")
    who = Who(pid=31, group=COMMUNICATOR, group_rank=1)
    assert waits(told) == [(who, [Who(group=COMMUNICATOR, group_rank=0)], None)]


def test_a_row_of_a_connection_that_is_there_is_nothing() -> None:
    row = "|  198.51.100.9(0)   |  16666  |   198.51.100.8(1)   |  3234  |  client  | connected |   DISABLE  |"
    assert not waits(facts(record(31, row)))


@pytest.mark.parametrize(
    ("text", "op", "group"),
    [
        (("EI0009: [PID: 31] 2026-03-01-08:00:00.250.000 Transport init error. Reason: [Create][DestLink]Create Dest "
         "error! createLink para:rank[1]-localUserrank[1]-localIpAddr[192.0.2.7], dst_rank[0]-remoteUserrank[0]-"
         "remote_ip_addr[192.0.2.7]"), None, UNNAMED),
        (record(31, "Transport init error! createLink para:rank[1]-localUserrank[1]-localIpAddr[192.0.2.7/1], "
         "remoteRank[0]-remoteUserrank[0]-remoteIpAddr[192.0.2.7/0], machineType[1], linkMode[1], isUsedRdma[0], "
         f"tag[AllReduce_{COMMUNICATOR}]"), "allreduce", COMMUNICATOR),
    ],
)  # fmt: skip
def test_a_transport_that_is_not_set_up_is_an_edge(text: str, op: str | None, group: str) -> None:
    told = facts(text)
    who = Who(pid=31, group=group, group_rank=1)
    assert waits(told) == [(who, [Who(group=group, group_rank=0)], op)]
    assert [(trouble.level, trouble.cause) for trouble in of(Trouble, told)] == [(Level.TIMEOUT, None)]


def test_two_communicators_of_a_process_are_told_apart_by_its_rank() -> None:
    other = entry(rank=5, size=16).replace(COMMUNICATOR, "192.0.2.9%eth0_60000_0_1772352000000002")
    row = record(31, "|  198.51.100.9(0)   |  16666  |   198.51.100.8({})   |  1  |  client  | time out |   DISABLE  |")
    own, neither = row.format(5), row.format(7)
    groups = [who.group for who, _, _ in waits(facts("\n".join([entry(rank=1), other, own, neither])))]
    assert groups == ["192.0.2.9%eth0_60000_0_1772352000000002", UNNAMED]


def test_what_a_probe_found_names_devices() -> None:
    text = (
        "This node (server 192.0.2.7, device ID 1) detects that srcRank (server 192.0.2.7, device ID 1) fails to "
        "connect to dstRank (server 192.0.2.8, device ID 0,6). Continue to analyze the fault based on the logs"
    )
    source, peers = Who(host="192.0.2.7", device="npu1"), [Who(host="192.0.2.8", device=f"npu{id_}") for id_ in (0, 6)]
    assert waits(facts(record(31, text))) == [(source, peers, None)]


@pytest.mark.parametrize(("off", "odd"), [("3", [3]), ("0,1,2", [])])
def test_the_fewer_ranks_are_set_up_otherwise(off: str, odd: list[int]) -> None:
    text = (
        'EI0016: Value Disable for config "tls" is invalid. Reason: rankList for enabled tls:[4,5,6]; '
        f"rankList for disabled tls:[{off}]"
    )
    (trouble,) = of(Trouble, facts(text))
    assert (trouble.level, trouble.cause) == (Level.INITIATING, "config")
    assert [subject.who.group_rank for subject in trouble.about] == odd
