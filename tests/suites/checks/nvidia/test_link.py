"""Rules about NVLink and direct access, from what nvidia-smi and dcgmi print to the finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from suites.report import Finding, Status
from tests.probes.nvidia.samples import ALL_INACTIVE, nvlink
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

BOARD = "NVIDIA Q100-SXM9-80GB"
CARD = "NVIDIA Q100 80GB PCIe"
UP = ["25 GB/s"] * 4


def of_links(*gpus: tuple[int, str, Sequence[str]], more: str = "") -> dict[str, Any]:
    return facts_of({"nvidia-smi nvlink -s": nvlink(*gpus) + more})


def named(findings: list[Finding]) -> list[tuple[Status, Any]]:
    return [(finding.status, finding.subject.get("device")) for finding in findings]


def test_links_that_are_down() -> None:
    (finding,) = ruled(
        "nvidia.nvlink_inactive", of_links((0, BOARD, UP), (1, BOARD, ["25 GB/s", "<inactive>", "25 GB/s"]))
    )
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "gpu1")
    assert finding.evidence["line"] == "Link 1: <inactive>"
    assert statuses(ruled("nvidia.nvlink_inactive", of_links((0, BOARD, UP), (1, BOARD, UP)))) == [Status.PASS]


def test_a_gpu_of_a_board_without_any_link() -> None:
    assert named(ruled("nvidia.nvlink_inactive", of_links((6, BOARD, []), more=ALL_INACTIVE))) == [
        (Status.FAIL, "gpu6")
    ]
    all_dead = facts_of({"nvidia-smi nvlink -s": "".join(nvlink((n, BOARD, [])) + ALL_INACTIVE for n in range(2))})
    assert named(ruled("nvidia.nvlink_inactive", all_dead)) == [(Status.FAIL, "gpu0"), (Status.FAIL, "gpu1")]


def test_the_only_gpu_of_a_virtual_machine_may_have_none() -> None:
    assert named(ruled("nvidia.nvlink_inactive", of_links((0, BOARD, []), more=ALL_INACTIVE))) == [
        (Status.WARN, "gpu0")
    ]


def test_cards_without_a_bridge_are_silent() -> None:
    text = "".join(nvlink((n, CARD, [])) + ALL_INACTIVE for n in range(2))
    assert ruled("nvidia.nvlink_inactive", facts_of({"nvidia-smi nvlink -s": text})) == []
    for name in ("NVIDIA GH200 480GB", "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA A100-PCIE-40GB"):
        assert ruled("nvidia.nvlink_inactive", of_links((0, name, []), more=ALL_INACTIVE)) == []


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200", "NVIDIA A100-SXM4-40GB"])
def test_models_of_boards(name: str) -> None:
    assert named(ruled("nvidia.nvlink_inactive", of_links((3, name, []), more=ALL_INACTIVE))) == [(Status.FAIL, "gpu3")]


def test_bridges_that_join_a_part_of_the_links() -> None:
    part = ["14 GB/s", "14 GB/s", "<inactive>", "<inactive>"]
    assert ruled("nvidia.nvlink_inactive", of_links((0, CARD, part), (1, CARD, part))) == []
    found = ruled("nvidia.nvlink_inactive", of_links((0, CARD, ["14 GB/s"] * 4), (1, CARD, part)))
    assert named(found) == [(Status.FAIL, "gpu1")]


def test_a_slower_link() -> None:
    found = ruled("nvidia.nvlink_slow", of_links((0, BOARD, UP), (1, BOARD, ["25 GB/s", "12.5 GB/s"])))
    assert named(found) == [(Status.WARN, "gpu1")]
    assert statuses(ruled("nvidia.nvlink_slow", of_links((0, BOARD, UP), (1, CARD, ["14 GB/s"])))) == [Status.PASS]


def dcgm(*rows: str, switches: str = "    No NvSwitches found.\n") -> dict[str, Any]:
    gpus = "".join(f"    gpuId {index}:\n        {row}\n" for index, row in enumerate(rows))
    return facts_of({"dcgmi nvlink -s": f"GPUs:\n{gpus}NvSwitches:\n{switches}\nKey: Up=U, Down=D, Disabled=X\n"})


def test_states_as_dcgm_has_them() -> None:
    assert named(ruled("nvidia.nvlink_down", dcgm("U U U D", "U U U U"))) == [(Status.FAIL, "gpu0")]
    assert named(ruled("nvidia.nvlink_down", dcgm("U U U U", "U U X X"))) == [(Status.WARN, "gpu1")]
    assert statuses(ruled("nvidia.nvlink_down", dcgm("U U X X", "U U X X"))) == [Status.PASS]
    assert statuses(ruled("nvidia.nvlink_down", dcgm("U U _ _", "U U _ _"))) == [Status.PASS]


def test_links_of_switches() -> None:
    found = ruled("nvidia.nvlink_down", dcgm("U U", switches="    physicalId 9:\n        U D\n"))
    assert named(found) == [(Status.WARN, "nvswitch9")]


def test_dcgm_without_its_engine_is_no_verdict() -> None:
    facts = facts_of({
        "nvidia-smi nvlink -s": nvlink((0, BOARD, UP)),
        "dcgmi nvlink -s": "Error: unable to establish a connection to the specified host: localhost\n",
    })  # fmt: skip
    assert statuses(ruled("nvidia.nvlink_down", facts)) == [Status.SKIP]


def errors(*counts: int) -> dict[str, Any]:
    return facts_of({"nvidia-smi nvlink -e": nvlink((0, BOARD, [f"Replay Errors: {count}" for count in counts]))})


def test_errors_that_came_since() -> None:
    (finding,) = ruled("nvidia.nvlink_errors_grew", errors(4, 9), earlier=errors(4, 7))
    assert (finding.status, finding.message) == (Status.WARN, "NVLink errors of gpu0 grew by 2: replay of link1")
    assert statuses(ruled("nvidia.nvlink_errors_grew", errors(4, 7), earlier=errors(4, 7))) == [Status.PASS]


def test_the_link_with_far_more_errors() -> None:
    (finding,) = fleet("nvidia.nvlink_errors_stand_out", a=errors(0, 1, 0, 2), b=errors(0, 65535, 1, 0))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "b", "device": "gpu0"})
    assert "link1" in finding.message
    assert statuses(fleet("nvidia.nvlink_errors_stand_out", a=errors(3, 9, 0, 8))) == [Status.PASS]


def test_errors_as_dcgm_counts_them() -> None:
    rows = "".join(f"| Link {link} | |\n| -> CRC Data Error | {count} |\n" for link, count in enumerate((0, 0, 900, 0)))
    found = fleet("nvidia.nvlink_errors_stand_out", a=facts_of({"dcgmi nvlink -e -g 5": rows}))
    assert named(found) == [(Status.WARN, "gpu5")]


def direct(*rows: str) -> dict[str, Any]:
    head = "\t" + "\t".join(f"GPU{index}" for index in range(len(rows)))
    body = [f"GPU{index}\t" + "\t".join(row.split()) for index, row in enumerate(rows)]
    return facts_of({"nvidia-smi topo -p2p r": "\n".join([head, *body])})


def test_direct_access() -> None:
    assert statuses(ruled("nvidia.direct_access", direct("X OK OK", "OK X OK", "OK OK X"))) == [Status.PASS]
    found = ruled("nvidia.direct_access", direct("X OK OK OK", "OK X OK OK", "OK OK X CNS", "OK OK CNS X"))
    assert named(found) == [(Status.WARN, "gpu2"), (Status.WARN, "gpu3")]
    assert ruled("nvidia.direct_access", direct("X CNS", "CNS X")) == []
    assert statuses(ruled("nvidia.direct_access", direct("X DR", "DR X"))) == [Status.WARN, Status.WARN]


REFUSED = {
    "nvidia-smi topo -m": "\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\n",
    "nvidia-smi nvlink -s": "Insufficient Permissions\n",
    "nvidia-smi topo -p2p r": "Insufficient Permissions\n",
}


def test_links_of_which_nobody_may_tell() -> None:
    assert statuses(ruled("nvidia.nvlink_inactive", facts_of(REFUSED))) == [Status.SKIP]
    assert ruled("nvidia.nvlink_slow", facts_of(REFUSED)) == []
    assert ruled("nvidia.direct_access", facts_of(REFUSED)) == []


def test_cards_that_are_not_joined_alike() -> None:
    found = ruled(
        "nvidia.nvlink_inactive", of_links((0, CARD, ["14 GB/s", "<inactive>"]), (1, CARD, ["<inactive>", "14 GB/s"]))
    )
    assert named(found) == [(Status.FAIL, "gpu0"), (Status.FAIL, "gpu1")]


def test_a_card_without_peers_that_has_lost_a_link() -> None:
    found = ruled("nvidia.nvlink_inactive", of_links((0, CARD, ["14 GB/s", "<inactive>"])))
    assert named(found) == [(Status.FAIL, "gpu0")]


def test_boards_have_all_their_links() -> None:
    part = ["25 GB/s", "<inactive>"]
    found = ruled("nvidia.nvlink_inactive", of_links((0, BOARD, part), (1, BOARD, part)))
    assert named(found) == [(Status.FAIL, "gpu0"), (Status.FAIL, "gpu1")]


def test_a_gpu_without_links_beside_one_with_them() -> None:
    for name, status in ((BOARD, Status.FAIL), (CARD, Status.INFO)):
        text = nvlink((0, name, [])) + ALL_INACTIVE + nvlink((1, name, UP))
        (finding,) = ruled("nvidia.nvlink_inactive", facts_of({"nvidia-smi nvlink -s": text}))
        assert (finding.status, finding.subject["device"]) == (status, "gpu0")
        assert finding.evidence["line"] == ALL_INACTIVE.strip()


@pytest.mark.parametrize(("down", "told"), [
    (1, "NVLink 0 of gpu0 is inactive"), (6, "NVLink 0, 1, 2, 3, 4, 5 of gpu0 are inactive"),
    (7, "NVLink 0, 1, 2, 3, 4, 5 and more of gpu0 are inactive"),
])  # fmt: skip
def test_which_links_are_down(down: int, told: str) -> None:
    facts = of_links((0, BOARD, ["<inactive>"] * down + UP), (1, BOARD, UP))
    (finding,) = ruled("nvidia.nvlink_inactive", facts)
    assert finding.message == told


def test_where_slow_and_lost_links_are_told() -> None:
    (finding,) = ruled("nvidia.nvlink_slow", of_links((0, BOARD, UP), (1, BOARD, ["25 GB/s", "12.5 GB/s"])))
    assert (finding.evidence["line"], finding.evidence["threshold"]) == ("Link 1: 12.5 GB/s", 25)
    for row, other in (("U U U D", "U U U U"), ("U U U X", "U U U U")):
        (finding,) = ruled("nvidia.nvlink_down", dcgm(row, other))
        assert (finding.evidence["value"], finding.evidence["line"]) == ([3], row)
    (finding,) = ruled("nvidia.nvlink_down", dcgm("U U", switches="    physicalId 9:\n        U D\n"))
    assert finding.evidence["value"] == [1]
    (finding,) = ruled("nvidia.direct_access", direct("X DR OK", "DR X OK", "OK OK X"))[:1]
    assert (finding.evidence["value"], finding.evidence["threshold"]) == ({"1": "DR", "2": "OK"}, "OK")


def test_cards_without_a_bridge_have_their_links_down() -> None:
    assert ruled("nvidia.nvlink_down", dcgm("D D", "D D")) == []
    text = "GPUs:\n    gpuId 0:\n        D D\n    gpuId 1:\n        D D\nNvSwitches:\n    No NvSwitches found.\n"
    seen = facts_of({"nvidia-smi nvlink -s": nvlink((0, CARD, []), (1, BOARD, [])), "dcgmi nvlink -s": text})
    assert named(ruled("nvidia.nvlink_down", seen)) == [(Status.FAIL, "gpu1")]


def test_counters_that_were_not_told_before_did_not_grow() -> None:
    assert statuses(ruled("nvidia.nvlink_errors_grew", errors(4, 9), earlier=errors(4))) == [Status.PASS]
    (finding,) = ruled("nvidia.nvlink_errors_grew", errors(4, 8), earlier=errors(4, 7))
    assert (finding.evidence["value"], finding.evidence["threshold"]) == (8, 7)
    assert finding.evidence["line"] == "Link 1: Replay Errors: 8"


def test_three_links_are_too_few_to_tell_which_stands_out() -> None:
    assert fleet("nvidia.nvlink_errors_stand_out", a=errors(0, 65535, 0)) == []
    (finding,) = fleet("nvidia.nvlink_errors_stand_out", a=errors(0, 65535, 0, 0))
    assert finding.evidence["line"] == "Link 1: Replay Errors: 65535"
    assert finding.evidence["threshold"] < 65535


def test_cells_that_say_nothing_of_access() -> None:
    assert statuses(ruled("nvidia.direct_access", direct("X OK OK U", "OK X OK OK", "OK OK X OK", "N/A OK OK X"))) == [
        Status.PASS
    ]
    assert ruled("nvidia.direct_access", direct("X OK CNS", "OK X CNS", "CNS CNS X")) == []


def test_the_one_gpu_without_direct_access_is_named() -> None:
    rows = ["X OK CNS OK", "OK X CNS OK", "CNS CNS X CNS", "OK OK CNS X"]
    assert named(ruled("nvidia.direct_access", direct(*rows))) == [(Status.WARN, "gpu2")]


def test_cards_without_a_bridge_beside_some_with_one() -> None:
    text = nvlink((0, CARD, UP), (1, CARD, UP), (2, CARD, [])) + ALL_INACTIVE + nvlink((3, CARD, ["<inactive>"] * 4))
    found = ruled("nvidia.nvlink_inactive", facts_of({"nvidia-smi nvlink -s": text}))
    assert named(found) == [(Status.INFO, "gpu2"), (Status.INFO, "gpu3")]
    none = of_links((0, CARD, ["<inactive>"] * 4), (1, CARD, ["<inactive>"] * 4))
    assert ruled("nvidia.nvlink_inactive", none) == []


def test_counters_that_were_reset_between() -> None:
    assert statuses(ruled("nvidia.nvlink_errors_grew", errors(4, 1), earlier=errors(3, 7))) == [Status.SKIP]
