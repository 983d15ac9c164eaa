"""Rules about the ports between NPUs of 950."""

from __future__ import annotations

from typing import Any

import pytest

from suites.report import Status
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of


def speed(width: str, state: str = "normal") -> dict[str, Any]:
    head = "| NPU | UDie | Port | Speed | Cap | Width | Status |\n"
    return facts_of({"hccn_tool -g -speed -i 0": f"{head}| 0 | 0 | 4 | 400 G | X4 | {width} | {state} |\n"})


@pytest.mark.parametrize(
    ("facts", "status"),
    [(speed("X4"), Status.PASS), (speed("X2"), Status.FAIL), (speed("X4", "degraded"), Status.FAIL)],
)
def test_the_lanes_of_a_port(facts: dict[str, Any], status: Status) -> None:
    (finding,) = ruled("ascend.port_lanes", facts)
    assert finding.status is status
    if status is Status.FAIL:
        assert "400 G" in finding.evidence["line"]


def test_an_npu_that_is_not_fully_connected() -> None:
    text = "link status : PARTIAL LINK\nport 4 : UP\nport 6 : DOWN\n"
    (finding,) = ruled("ascend.ub_partial", facts_of({"hccn_tool -g -ub_connect -i 1": text}))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu1")
    assert "port 6 DOWN" in finding.message
    whole = facts_of({"hccn_tool -g -ub_connect -i 1": "link status : FULL LINK\nport 4 : UP\n"})
    assert statuses(ruled("ascend.ub_partial", whole)) == [Status.PASS]


def ports(*states: str) -> dict[str, Any]:
    head = "| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | Media Type |\n"
    rows = "".join(f"| 0 | {number} | 400 | UB | {state} | Electrical |\n" for number, state in enumerate(states))
    return facts_of({"hccn_tool -i 0 -dev_info -g": head + rows})


@pytest.mark.parametrize(
    ("facts", "status"),
    [(ports("UP", "UP"), Status.PASS), (ports("DOWN", "DOWN"), Status.PASS), (ports("UP", "DOWN"), Status.WARN)],
)
def test_some_ports_of_an_npu_are_down(facts: dict[str, Any], status: Status) -> None:
    assert statuses(ruled("ascend.ub_port_down", facts)) == [status]


def test_a_port_that_is_down_where_it_is_up_elsewhere() -> None:
    (finding,) = fleet("ascend.ub_port_differs", a=ports("UP"), b=ports("DOWN"), c=ports("UP"))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "b", "device": "npu0"})
    assert statuses(fleet("ascend.ub_port_differs", a=ports("DOWN"), b=ports("DOWN"))) == [Status.PASS]
