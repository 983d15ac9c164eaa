"""Rules about places, from what tools print and sysfs holds to the finding."""

from __future__ import annotations

from typing import Any

from suites.checks.topology import RULES
from suites.report import Status
from tests.suites.checks.ruled import ruled, statuses
from tests.suites.checks.told import facts_of

SECTIONS = RULES[0].needs


def seen(gpus: list[int], cards: list[int]) -> dict[str, Any]:
    """The facts of a host with GPUs and RDMA devices on these NUMA nodes."""
    rule = f"{' Link Type between two GPUs ':=^90}"
    matrix = [" " * 7 + "".join(f"GPU{gpu:<10}" for gpu in range(len(gpus)))]
    for gpu in range(len(gpus)):
        cells = "".join(f"{'0' if other == gpu else 'XGMI':<13}" for other in range(len(gpus)))
        matrix.append(f"GPU{gpu:<4}{cells}")
    numa = [f"GPU[{gpu}]\t\t: (Topology) Numa Node: {node}" for gpu, node in enumerate(gpus)]
    printed = "\n".join([rule, *matrix, "", f"{' Numa Nodes ':=^90}", *numa, ""])
    folder = "/sys/class/infiniband/mlx5_"
    files = {f"{folder}{card}/device/numa_node": f"{node}\n" for card, node in enumerate(cards)}
    files |= {f"{folder}{card}/ports/1/state": "4: ACTIVE\n" for card in range(len(cards))}
    return facts_of({"rocm-smi --showtopo": printed}, files, sections=SECTIONS)


def test_an_accelerator_without_a_near_card_is_named() -> None:
    (finding,) = ruled("topology.nic_far", seen([0, 0, 1, 2], [0, 1]))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "h", "device": "gpu3"})
    assert finding.evidence["value"] == "SYS to mlx5_0, mlx5_1"
    assert finding.evidence["threshold"] == "NODE, as gpu0 to mlx5_0"


def test_cards_on_every_node_pass() -> None:
    assert statuses(ruled("topology.nic_far", seen([0, 0, 1, 1], [0, 1]))) == [Status.PASS]


def test_cards_on_one_of_two_nodes_are_how_the_host_is_built() -> None:
    assert statuses(ruled("topology.nic_far", seen([0, 0, 1, 1], [0]))) == [Status.PASS]


def test_what_a_vendors_matrix_tells_is_left_to_the_vendors_rules() -> None:
    head = "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity"
    rows = ["GPU0\t X \tNV4\tNV4\tPIX\t0-7\t0", "GPU1\tNV4\t X \tNV4\tPIX\t0-7\t0", "GPU2\tNV4\tNV4\t X \tSYS\t8-15\t1"]
    facts = facts_of(
        {"nvidia-smi topo -m": "\n".join([head, *rows, "", "NIC Legend:", "", "  NIC0: mlx5_0"])}, sections=SECTIONS
    )
    assert ruled("topology.nic_far", facts) == []


def test_a_host_without_accelerators_has_nothing_to_judge() -> None:
    assert ruled("topology.nic_far", seen([], [0])) == []
