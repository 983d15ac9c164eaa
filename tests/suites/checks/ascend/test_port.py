"""Rules about NPU ports, from what hccn_tool prints to the finding."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of


def test_a_port_without_a_link_is_named_with_its_line() -> None:
    facts = facts_of({
        "hccn_tool -i 0 -link -g": "link status: UP\n",
        "hccn_tool -i 3 -link -g": "link status: DOWN\n",
    })  # fmt: skip
    (finding,) = ruled("ascend.link_down", facts)
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "h", "device": "npu3"})
    assert finding.evidence == {"command": "hccn_tool -i 3 -link -g", "value": "DOWN", "line": "link status: DOWN"}


def test_ports_with_links_pass() -> None:
    assert statuses(ruled("ascend.link_down", facts_of({"hccn_tool -i 0 -link -g": "link status: UP\n"}))) == [
        Status.PASS
    ]


def test_a_refusal_is_no_link_down() -> None:
    facts = facts_of({"hccn_tool -i 0 -link -g": "permission denied: pls check this cmd run permission.\n"})
    (finding,) = ruled("ascend.link_down", facts)
    assert finding.status is Status.SKIP
    assert "npu0: permission denied" in finding.message


def test_a_tool_that_is_not_there_says_nothing() -> None:
    assert ruled("ascend.link_down", facts_of({"npu-smi info": ""})) == []


def link_stat(now: str, *changes: str) -> str:
    """What -link_stat prints; changes as `10:00:00 DOWN`, newest first, all of one day."""
    lines = [f"current time        : {now}", "link change records :"]
    lines += [f"    Fri Mar  7 {change.split()[0]} 2025    LINK {change.split()[1]}" for change in changes]
    return "".join(f"[devid 2]{line}\n" for line in lines)


def with_history(text: str) -> dict[str, Any]:
    return facts_of({"hccn_tool -i 2 -link_stat -g": text})


BOOT = ("08:00:12 UP", "08:00:10 DOWN", "08:00:00 UP")
NOON = "Fri Mar  7 12:00:00 2025"


@pytest.mark.parametrize(
    ("now", "changes", "status"),
    [
        (NOON, BOOT, Status.PASS),
        ("Fri Mar  7 08:01:00 2025", BOOT, Status.PASS),
        (NOON, ("11:59:00 DOWN", *BOOT), Status.FAIL),
        (NOON, ("11:45:02 UP", "11:45:00 DOWN", *BOOT), Status.WARN),
        (NOON, ("10:00:02 UP", "10:00:00 DOWN", *BOOT), Status.PASS),
        (NOON, ("10:02:00 UP", "10:01:50 DOWN", "10:01:00 UP", "10:00:50 DOWN", *BOOT), Status.PASS),
        (
            NOON,
            ("10:03:00 UP", "10:02:50 DOWN", "10:02:00 UP", "10:01:50 DOWN", "10:01:00 UP", "10:00:50 DOWN", *BOOT),
            Status.WARN,
        ),
    ],
)
def test_a_link_that_comes_up_is_no_flap_and_one_that_goes_down_is(
    now: str, changes: tuple[str, ...], status: Status
) -> None:
    assert statuses(ruled("ascend.link_flapped", with_history(link_stat(now, *changes)))) == [status]


def test_a_link_that_is_down_is_said_with_the_time() -> None:
    (finding,) = ruled("ascend.link_flapped", with_history(link_stat(NOON, "11:59:00 DOWN", *BOOT)))
    assert finding.subject == {"host": "h", "device": "npu2"}
    assert "2025-03-07T11:59:00" in finding.message
    assert finding.evidence["line"] == "Fri Mar  7 11:59:00 2025    LINK DOWN"


def test_a_link_that_never_changed_is_not_unknown() -> None:
    assert ruled("ascend.link_flapped", with_history("[devid 2]link change records : NA\n")) == []


def test_what_went_down_since_the_earlier_snapshot() -> None:
    before = with_history(link_stat(NOON, *BOOT))
    after = with_history(link_stat("Fri Mar  7 15:00:00 2025", "13:00:05 UP", "13:00:00 DOWN", *BOOT))
    (finding,) = ruled("ascend.link_lost", after, earlier=before)
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu2")
    assert "13:00:00" in finding.message
    assert statuses(ruled("ascend.link_lost", after, earlier=after)) == [Status.PASS]


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("Success", Status.PASS),
        ("Init", Status.INFO),
        ("Detect ip set", Status.WARN),
        ("Socket failed", Status.FAIL),
        ("Receive timeout", Status.FAIL),
        ("Fault", Status.FAIL),
    ],
)
def test_the_health_of_the_network(state: str, status: Status) -> None:
    facts = facts_of({"hccn_tool -i 0 -net_health -g": f"net health status: {state}\n"})
    assert statuses(ruled("ascend.net_health", facts)) == [status]


def test_a_port_that_has_no_link_may_say_so_to_any_question() -> None:
    facts = facts_of({
        "hccn_tool -i 0 -link -g": "Command execute failed!\n",
        "hccn_tool -i 0 -speed -g": "Execute failed: Link status is down.\n",
    })  # fmt: skip
    (finding,) = ruled("ascend.link_down", facts)
    assert (finding.status, finding.evidence["command"]) == (Status.FAIL, "hccn_tool -i 0 -speed -g")


def test_an_npu_that_is_gone() -> None:
    facts = facts_of({
        "hccn_tool -i 0 -link -g": "link status: UP\n", "hccn_tool -i 1 -link -g": "The device is not exist!\n",
    })  # fmt: skip
    (finding,) = ruled("ascend.port_gone", facts)
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu1")


def test_a_port_that_was_not_seen_before_is_not_compared() -> None:
    after = with_history(link_stat(NOON, "11:00:05 UP", "11:00:00 DOWN", *BOOT))
    assert ruled("ascend.link_lost", after, earlier=facts_of({})) == []
    refused = with_history("hccn_tool is busy, please try again.\n")
    assert ruled("ascend.link_lost", refused, earlier=after) == []
