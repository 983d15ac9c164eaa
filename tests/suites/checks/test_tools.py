"""Rules about the tools that were asked, from how they end to the finding."""

from __future__ import annotations

import pytest

from probes.host import Answer
from suites.report import Status
from tests.probes.ascend.npu_samples import eight
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of

LATE = Answer(None, "", "")
CRASHED = Answer(-11, "", "")
SMI = ("npu-smi info", "npu-smi info -t topo", "npu-smi info -l", "npu-smi info -m")


def test_a_tool_that_hangs_is_an_error_once() -> None:
    facts = facts_of({"npu-smi info": LATE, "npu-smi info -t health -i 0 -c 0": "x"})
    (finding,) = ruled("tools.hung", facts)
    assert (finding.status, finding.subject) == (Status.ERROR, {"host": "h"})
    assert finding.evidence["command"] == "npu-smi info"
    assert "npu-smi hung" in finding.message
    assert "boot" in str(finding.remedy)


@pytest.mark.parametrize(
    ("commands", "tools", "section"),
    [
        (["npu-smi info", "hccn_tool -i 0 -link -g"], ["npu-smi", "hccn_tool"], "accelerators"),
        (["nvidia-smi", "dcgmi nvlink -s"], ["nvidia-smi", "dcgmi"], "accelerators"),
        (["amd-smi list"], ["amd-smi"], "accelerators"),
        (["dmesg --time-format iso", "dmesg"], ["dmesg"], "log"),
        (["lspci -Dvvv"], ["lspci"], "pcie"),
        (["ibstat", "ibv_devinfo"], ["ibstat", "ibv_devinfo"], "rdma"),
        (["ethtool eth0"], ["ethtool"], "network"),
        (["ip -j addr"], ["ip"], "network"),
        (["chronyc tracking"], ["chronyc"], "clock"),
    ],
)
def test_each_tool_that_hangs_is_named(commands: list[str], tools: list[str], section: str) -> None:
    found = ruled("tools.hung", facts_of(dict.fromkeys(commands, LATE), sections=(section,)))
    assert statuses(found) == [Status.ERROR] * len(tools)
    assert {finding.message.split()[0] for finding in found} == set(tools)


def test_tools_that_end_pass() -> None:
    assert statuses(ruled("tools.hung", facts_of({"npu-smi info": eight()}))) == [Status.PASS]
    assert ruled("tools.hung", facts_of({})) == []


def test_a_tool_that_crashes_leaves_the_devices_unknown() -> None:
    facts = facts_of(dict.fromkeys(SMI, CRASHED))
    assert facts["accelerators"]["ascend"]["devices"] is None
    (finding,) = ruled("tools.failed", facts)
    assert (finding.status, finding.evidence["command"]) == (Status.ERROR, "npu-smi info")
    assert "killed by SIGSEGV" in finding.message


def test_a_tool_that_tells_anything_has_not_failed() -> None:
    facts = facts_of({"npu-smi info": eight(), "npu-smi info -l": CRASHED})
    assert statuses(ruled("tools.failed", facts)) == [Status.PASS]


@pytest.mark.parametrize(
    ("tool", "answer", "section"),
    [("ibstat", CRASHED, "rdma"), ("npu-smi info", Answer(0, "gobbledygook\n", ""), "accelerators")],
)
def test_what_is_no_bad_end_of_a_tool_for_accelerators_is_but_unknown(tool: str, answer: Answer, section: str) -> None:
    (finding,) = ruled("tools.failed", facts_of({tool: answer}, sections=(section,)))
    assert finding.status is Status.SKIP
    assert f"{tool.split()[0]} is here" in finding.message


@pytest.mark.parametrize("tool", ["nvidia-smi", "amd-smi list", "rocm-smi --showbus"])
def test_gpus_are_unknown_where_their_tool_crashes(tool: str) -> None:
    accelerators = facts_of({tool: CRASHED})["accelerators"]
    assert accelerators["nvidia" if tool == "nvidia-smi" else "amd"]["devices"] is None


def test_tools_that_another_process_keeps_are_said_once() -> None:
    reading = {"source": "npu-smi info", "state": "taken", "reason": "kept for 60 s", "values": {}}
    (finding,) = ruled("tools.taken", {"accelerators": {"ascend": {"readings": {"a": reading, "b": reading}}}})
    assert (finding.status, finding.message) == (Status.ERROR, "2 questions to tools were not asked: kept for 60 s")
    assert ruled("tools.taken", facts_of({"npu-smi info": eight()})) == []


def test_what_root_would_be_told() -> None:
    refused = Answer(1, "", "Operation not permitted\n")
    (finding,) = ruled(
        "tools.refused", facts_of({"hccn_tool -i 0 -link -g": refused, "hccn_tool -i 0 -ip -g": refused})
    )
    assert (finding.status, finding.evidence["command"]) == (Status.INFO, "hccn_tool -i 0 -link -g")
    assert "2 questions to hccn_tool" in finding.message
    busy = Answer(1, "", "because the device is used\n")
    assert ruled("tools.refused", facts_of({"npu-smi info": busy})) == []


def test_what_root_would_see_of_pci_devices() -> None:
    gpu = "19:00.0 3D controller: NVIDIA Corporation X\n\tCapabilities: <access denied>\n"
    (finding,) = ruled("tools.refused", facts_of({"lspci -vvv": gpu}, sections=("pcie",)))
    assert "1 question to lspci" in finding.message
