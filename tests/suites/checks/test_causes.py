"""One fault that several rules see is one finding."""

from __future__ import annotations

import pytest

from probes.host import Answer
from suites.checks import rules
from suites.checks.causes import EFFECTS, attributed
from suites.checks.judging import judge
from suites.report import Finding, Status
from tests.made_up.npu_host import NpuHost
from tests.suites.checks.told import facts_of

CAUSE, EFFECT = "ascend.link_down", "ascend.net_health"


def test_causes_and_effects_are_rules() -> None:
    named = {*EFFECTS, *(effect for effects in EFFECTS.values() for effect in effects)}
    assert named <= set(rules())
    assert not any(cause in effects for cause, effects in EFFECTS.items())


def finding(check: str, status: Status = Status.FAIL, host: str = "a", device: str | None = "npu1") -> Finding:
    return Finding(check, status, "x", {"host": host} | ({"device": device} if device else {}))


@pytest.mark.parametrize(
    ("cause", "kept"),
    [
        (finding(CAUSE), False),
        (finding(CAUSE, device=None), False),
        (finding(CAUSE, Status.WARN), False),
        (finding(CAUSE, device="npu2"), True),
        (finding(CAUSE, host="b"), True),
        (finding(CAUSE, Status.PASS, device=None), True),
        (finding(CAUSE, Status.SKIP, device=None), True),
        (finding("ascend.ip_missing"), True),
    ],
)
def test_an_effect_goes_with_its_cause(cause: Finding, kept: bool) -> None:
    found = attributed([finding(EFFECT), cause, finding(EFFECT, Status.PASS)])
    assert [each.check for each in found] == [*([EFFECT] if kept else []), cause.check, EFFECT]
    assert next(each for each in found if each.check == cause.check).evidence == ({} if kept else {"seen_by": [EFFECT]})


def test_an_npu_that_fell_off_is_told_once() -> None:
    """Its file is there, its card is asked for in vain, and other hosts have one more."""
    host = NpuHost(subnet=2, gone=(5,))
    commands = {**host.commands(), "npu-smi info -t board -i 5": "Invalid card id.\n"}
    sick = facts_of(commands, {**host.files(), "/dev/davinci5": ""}, sections=())
    well = [facts_of(NpuHost(subnet=n).commands(), NpuHost(subnet=n).files(), sections=()) for n in (1, 3)]
    judged = judge({"a": well[0], "b": sick, "c": well[1]}, rules().values(), {})
    (found,) = [each for each in judged if each.status is Status.FAIL]
    assert (found.check, found.subject) == ("ascend.npu_missing", {"host": "b", "device": "npu5"})
    assert found.evidence["seen_by"] == ["pcie.accelerators_differ", "ascend.card_lost", "ascend.npu_count_differs"]


def test_a_device_is_named_by_people_and_not_by_its_address() -> None:
    table = "index, name, pci.bus_id\n2, X100, 00000000:4C:00.0\n"
    log = "[    1.2] NVRM: Xid (PCI:0000:4c:00): 79, pid=1, GPU has fallen off the bus.\n"
    commands: dict[str, str | Answer] = {"nvidia-smi --query-gpu=index --format=csv": table, "dmesg": log}
    found = judge({"h": facts_of(commands, sections=("accelerators", "log"))}, [rules()["log.xid"]], {})
    assert [(each.subject["device"], each.evidence["bus"][:10]) for each in found] == [("gpu2", "0000:4c:00")]
