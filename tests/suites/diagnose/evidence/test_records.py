"""Records that were broken into lines, and such as were joined."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.diagnose.evidence.records import begins, joined, split, unfinished

WATCHDOG = (
    "[rank2]:[E424 01:11:21.160832730 ProcessGroupNCCL.cpp:629] [Rank 2] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=4, OpType=BROADCAST, NumelIn=112, NumelOut=112, Timeout(ms)=1800000) ran for 1800010 milliseconds "
    "before timing out."
)


@pytest.mark.parametrize("at", range(WATCHDOG.index("caught") + 6, WATCHDOG.index("timing") + 3))
def test_a_watchdogs_record_is_whole_again_wherever_it_was_broken(at: int) -> None:
    text, rest = WATCHDOG[:at], WATCHDOG[at:]
    assert unfinished(text)
    assert not begins(rest)
    assert joined(text, rest) == WATCHDOG
    assert not unfinished(WATCHDOG)


def test_a_blank_that_went_with_the_break_comes_back() -> None:
    assert joined("WorkNCCL(SeqNum=4,", "OpType=BROADCAST)") == "WorkNCCL(SeqNum=4, OpType=BROADCAST)"
    assert joined("Timeout(ms)=9) ran for", "10 milliseconds before timing out") == (
        "Timeout(ms)=9) ran for 10 milliseconds before timing out"
    )


def test_joined_records_are_split() -> None:
    first = "[ERROR] HCCL(11,python):2026-12-02-07:19:01.500.001 [a.cc:1] [22][Wait]is failed. ret[9]"
    second = "[ERROR]HCCL(11,python):2026-12-02-07:19:01.500.002 [b.cc:2] [22] more"
    assert split(first + second) == [first, second]
    torch = ["[rank2]:[E424 01:11:21.1 a.cpp:6] one", "[rank3]:[E424 01:11:21.1 a.cpp:6] two"]
    assert split("".join(torch)) == torch
    nccl = ["node01:11:22 [3] NCCL INFO Channel 00 ", "node02:11:22 [3] init.cc:5 NCCL WARN two"]
    assert split("".join(nccl)) == nccl


@pytest.mark.parametrize("text", ["node01:11:22 [3] init.cc:5 NCCL WARN two", "[rank2]:[E424 1 a] x", "plain [1] (2)"])
def test_one_record_stays_one(text: str) -> None:
    assert split(text) == [text]


@given(st.text(alphabet="[]()ERO HCLNWAI:0123456789ranknode.\t", max_size=300))
def test_nothing_is_lost_by_splitting(text: str) -> None:
    assert "".join("".join(split(text)).split()) == "".join(text.split())
