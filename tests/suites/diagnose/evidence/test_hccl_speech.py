"""Who says a line, and when, in all variants of the prefix."""

from __future__ import annotations

import pytest

from suites.diagnose.evidence.hccl_speech import communicator_of, number, seconds
from suites.diagnose.facts import Identity, Seen, Trouble, Who
from tests.suites.diagnose.evidence.hccl_lines import facts, of, record, troubles

EIGHT = 1772352000.0
"""2026-03-01 08:00:00, as UTC."""


@pytest.mark.parametrize(
    ("text", "pid", "time"),
    [
        ("[ERROR] HCCL(4711,python3):2026-03-01-08:00:00.250.000 [a.cc:1] [4712]call trace: hcclRet -> 9", 4711, 0.25),
        ("[ERROR]HCCL(4711,python3):2026-03-01-08:00:00.250.001[a.cc:1][4712]call trace: hcclRet -> 9", 4711, 0.250001),
        ("[ERROR] HCCL(4711,):2026-03-01 08:00:00.250.000 [a.cc:1]4712 call trace: hcclRet -> 9", 4711, 0.25),
        ("[rank3]: EI9999: [PID: 4711] 2026-03-01-08:00:00.250.000 inner", 4711, 0.25),
        ("[PID: 4711] 2026-03-01-08:00:00.250.000 Made_Up_Error(EI9999): inner", 4711, 0.25),
        ("RuntimeError: EI9999: [PID: 4711] 2026-03-01-08:00:00 inner", 4711, 0.0),
    ],
)
def test_says_who_and_when(text: str, pid: int, time: float) -> None:
    (trouble,) = troubles(text, Who(host="node01"))
    assert trouble.who == Who(host="node01", pid=pid)
    assert trouble.place.time == pytest.approx(EIGHT + time, abs=1e-6)


def test_a_block_names_process_rank_and_npu() -> None:
    told = facts(
        "[ERROR] 2026-03-01-08:00:00 (PID:4711, Device:3, RankID:101) ERR00100 PTA call acl api failed.\n"
        "EI0002: The wait execution of the Notify register times out. Reason: unknown."
    )
    who = Who(rank=101, pid=4711, device="npu3")
    assert [fact.who for fact in of(Identity, told)] == [who]
    assert [(fact.who, fact.known_as) for fact in of(Trouble, told)] == [(who, "torch_npu.call"), (who, "hccl.notify")]


def test_a_block_without_a_rank_names_none() -> None:
    told = facts("[ERROR] 2026-03-01-08:00:00 (PID:4711, Device:0, RankID:-1) ERR02200 DIST call hccl api failed.")
    assert not of(Identity, told)
    assert of(Trouble, told)[0].who.rank is None


def test_each_process_is_seen_once() -> None:
    told = facts("\n".join(record(pid, "something") for pid in (7, 8, 7)))
    assert [fact.who.pid for fact in of(Seen, told)] == [7, 8]


def test_no_date_is_no_time() -> None:
    assert seconds("2026-13-01-08:00:00") is None
    assert seconds("2026-02-30-08:00:00") is None
    assert seconds("2026-02-28-28:00:00") is None
    assert seconds("soon") is None


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("AllReduce_192.0.2.7%eth0_60000_0_1772352000000001", "192.0.2.7%eth0_60000_0_1772352000000001"),
        ("AllReduce_192.0.2.7%enp_60000_0_1772352000000001", "192.0.2.7%enp_60000_0_1772352000000001"),
        ("AllGather_2001:db8::7%enp1s0_60000_3_1772352000000001_x", "2001:db8::7%enp1s0_60000_3_1772352000000001"),
        ("AllReduce_group_name_165NHRAllReduceComm_device", "group_name_165"),
        ("HcomAllReduce_6600000000000000123_0", "6600000000000000123"),
        ("AllReduce_hccl_world_group", "hccl_world_group"),
        ("AllReduce", None),
    ],
)
def test_finds_the_communicator_in_a_tag(tag: str, name: str | None) -> None:
    assert communicator_of(tag) == name


@pytest.mark.parametrize("text", ["4294967295", "local", "unknown", "", "-1", "\u0663"])
def test_some_numbers_are_nobody(text: str) -> None:
    assert number(text) is None
