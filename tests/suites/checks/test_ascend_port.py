"""Rules about NPU ports, from what hccn_tool prints to the finding."""

from __future__ import annotations

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
