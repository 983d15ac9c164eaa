"""Who is who by the run log: two ranks on one NPU can be seen from it."""

from __future__ import annotations

import pytest

from suites.diagnose.facts import Group, Identity, Level, Setting, Trouble, Who
from tests.suites.diagnose.evidence.hccl_lines import facts, of, record, troubles

GROUP = "192.0.2.7%eth0_60000_0_1772352000000001"


def started(pid: int, rank: int, device: int) -> str:
    return "\n".join(
        [
            record(pid, f"Entry-HcclCommInitRootInfoInner:ranks[16], rank[{rank}], rootinfo: host ip[192.0.2.7] "
                   f"port[60000] nicDeploy[1] identifier[{GROUP}], deviceLogicId[{device}]", level="INFO"),
            record(pid, f"SetupAgent rankNum[16], rank[{rank}], host ip[192.0.2.7], server[192.0.2.7], "
                   f"logicDevId[{device}], phydevId[{device}], deviceIp[198.51.100.1]", level="INFO"),
        ]
    )  # fmt: skip


def test_two_ranks_on_one_npu_are_told_apart() -> None:
    told = facts(f"{started(70, 0, 0)}\n{started(78, 8, 0)}")
    placed = [fact.who for fact in of(Identity, told) if fact.who.host]
    assert placed == [
        Who(host="192.0.2.7", pid=70, device="npu0", group=GROUP, group_rank=0),
        Who(host="192.0.2.7", pid=78, device="npu0", group=GROUP, group_rank=8),
    ]
    assert {(fact.key, fact.size) for fact in of(Group, told)} == {(GROUP, 16)}


def test_key_information_names_communicator_rank_and_npu() -> None:
    told = facts(
        record(70, f"[Communicator Key Info]identifier[{GROUP}] rankSize[8] serverNum[1]") + "\n"
        + record(70, "[LocalRank Key Info]userRank[6] hostIp[192.0.2.7] devicePhyId[6] server[192.0.2.7] deviceIp[x]")
    )  # fmt: skip
    assert [(fact.key, fact.size) for fact in of(Group, told)] == [(GROUP, 8)]
    who = Who(host="192.0.2.7", pid=70, device="npu6", group=GROUP, group_rank=6)
    assert who in [fact.who for fact in of(Identity, told)]


def test_settings_can_be_compared() -> None:
    told = facts(record(70, "[HCCL_ENV] HCCL_CONNECT_TIMEOUT set by default to [120]s", level="INFO"))
    assert [(fact.key, fact.value) for fact in of(Setting, told)] == [("env.HCCL_CONNECT_TIMEOUT", "120")]


@pytest.mark.parametrize(
    ("text", "kind", "about"),
    [
        ("path /data/made_up.json is not a valid real path", "file", "/data/made_up.json"),
        ("rank[3] device ip family[2] is not same as others[10]", "rank", 3),
        (("the IP address(192.0.2.8) in the ranktable is inconsistent with the IP address(192.0.2.9) of the network "
         "adapter"), None, None),
        ("super_device_id[] is invalid", None, None),
        ("devices have same superDeviceId", None, None),
    ],
)  # fmt: skip
def test_faults_of_the_rank_table(text: str, kind: str | None, about: str | int | None) -> None:
    (trouble,) = troubles(record(70, text))
    assert (trouble.level, trouble.cause) == (Level.INITIATING, "config")
    assert [(one.kind, one.file or one.who.rank) for one in trouble.about] == ([(kind, about)] if kind else [])


def test_a_line_that_has_it_all_keeps_its_level() -> None:
    assert of(Trouble, facts(started(70, 0, 0))) == []
