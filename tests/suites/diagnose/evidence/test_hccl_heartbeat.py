"""What heartbeats tell: lost, stuck, or packets that never came."""

from __future__ import annotations

import pytest

from suites.diagnose.facts import Absent, Level, Subject, Trouble, Waiting, Who
from tests.suites.diagnose.evidence.hccl_lines import facts, of, record


def npu(host: int, device: int) -> Who:
    return Who(host=f"192.0.2.{host}", device=f"npu{device}")


def event(status: str, whom: str = "192.0.2.2/2", by: str = "192.0.2.3/3") -> str:
    return record(
        31,
        f"[HeartbeatAbnormal]local rank [192.0.2.1/1]: crimer rank [{whom}] status[{status}] by informer rank [{by}]",
    )


@pytest.mark.parametrize(
    "text",
    [
        event("LOST"),
        record(31, "[HCCL_TRACE]rank [192.0.2.1/1]: rank [192.0.2.2/2] status[LOST] by rank [192.0.2.3/3]"),
        record(31, "Cluster Exception Location[IP/ID]:[192.0.2.2/2], Arrival Time:[Sun Mar  1 08:00:00 2026], "
               "Discoverer:[192.0.2.3/3], ExceptionType:[Heartbeat Lost Occurred], Possible Reason:1. Process exited"),
    ],
)  # fmt: skip
def test_a_lost_rank_is_absent(text: str) -> None:
    told = facts(text)
    assert [(fact.absent, fact.by) for fact in of(Absent, told)] == [((npu(2, 2),), npu(3, 3))]
    assert [(fact.level, fact.cause) for fact in of(Trouble, told)] == [(Level.TIMEOUT, None)]


def test_a_stuck_rank_is_waited_for() -> None:
    told = facts(event("STUCK"))
    assert [(fact.who, fact.on) for fact in of(Waiting, told)] == [(npu(3, 3), (npu(2, 2),))]
    assert not of(Absent, told)


def test_stuck_without_a_discoverer_is_waited_for_by_nobody() -> None:
    told = facts(
        record(31, "Cluster Exception Location[IP/ID]:[192.0.2.2/2], Arrival Time:[Sun Mar  1 08:00:00 2026], "
               "ExceptionType:[Stuck Occurred], Possible Reason:1.Host process is stuck")
    )  # fmt: skip
    assert not of(Waiting, told)
    assert [fact.known_as for fact in of(Trouble, told)] == ["hccl.heartbeat_stuck"]


@pytest.mark.parametrize(
    "text",
    [
        event("ERROR CQE"),
        (
            "Execution_Error_ROCE_CQE(EI0013): An error CQE occurred. Local information: server "
            "192.0.2.3, device ID 3, device IP 198.51.100.3. Peer information: server 192.0.2.2, device ID 2, device "
            "IP 198.51.100.2."
        ),
    ],
)
def test_lost_packets_are_of_the_link(text: str) -> None:
    (trouble,) = of(Trouble, facts(text))
    assert (trouble.level, trouble.cause) == (Level.TRANSPORT, "transport")
    assert trouble.about == (Subject("link", npu(3, 3), npu(2, 2)),)


def test_ends_that_are_given_by_address_are_hosts() -> None:
    (trouble,) = of(
        Trouble,
        facts(record(31, "cqe error status[12], time:[2026-03-01 08:00:00.1],localInfo{server[192.0.2.3],deviceId"
              "[192.0.2.3],deviceIp[198.51.100.3]}, remoteIP{server[192.0.2.2],deviceId[192.0.2.2],"
              "deviceIp[198.51.100.2]}")),
    )  # fmt: skip
    assert trouble.about == (Subject("link", Who(host="192.0.2.3"), Who(host="192.0.2.2")),)


def test_a_status_that_is_not_told_says_nothing() -> None:
    told = facts(record(31, "local rank [192.0.2.1/1]: crimer rank [192.0.2.2/2] by informer rank [192.0.2.3/3]"))
    assert not of(Absent, told)
    assert [trouble.known_as for trouble in of(Trouble, told)] == ["hccl.unknown"]
