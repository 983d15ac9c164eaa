"""Rules about the matrix of `nvidia-smi topo -m`, from what it prints to the finding."""

from __future__ import annotations

from typing import Any

from suites.report import Finding, Status
from tests.probes.nvidia.samples import NO_PROCESSES, gpu_rows, table, topology
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of


def of(*rows: str, names: tuple[str, ...] = (), cards: tuple[str, ...] = ()) -> dict[str, Any]:
    said = {"nvidia-smi topo -m": topology(rows, cards)}
    if names:
        said["nvidia-smi"] = table(*(gpu_rows(index, name=name) for index, name in enumerate(names))) + NO_PROCESSES
    return facts_of(said)


def named(findings: list[Finding]) -> list[tuple[Status, Any]]:
    return [(finding.status, finding.subject.get("device")) for finding in findings]


def matrix(size: int, usual: str, weak: dict[int, str] | None = None) -> list[str]:
    """Rows in which some GPUs are reached in another way."""
    weak = weak or {}
    return [
        " ".join("X" if row == column else weak.get(row) or weak.get(column) or usual for column in range(size))
        for row in range(size)
    ]


def test_a_gpu_that_lost_its_links() -> None:
    (finding,) = ruled("nvidia.topology_weaker", of(*matrix(8, "NV18", {3: "SYS"})))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "gpu3")
    assert finding.evidence["threshold"] == "NV18"
    assert finding.evidence["line"].startswith("GPU3")


def test_two_gpus_that_lost_some() -> None:
    found = ruled("nvidia.topology_weaker", of(*matrix(8, "NV18", {2: "NV16", 5: "NV12"})))
    assert named(found) == [(Status.FAIL, "gpu2"), (Status.FAIL, "gpu5")]


def test_a_single_pair_that_is_weaker() -> None:
    rows = [row.split() for row in matrix(6, "NV18")]
    rows[1][4] = rows[4][1] = "PHB"
    found = ruled("nvidia.topology_weaker", of(*(" ".join(row) for row in rows)))
    assert named(found) == [(Status.FAIL, "gpu1"), (Status.FAIL, "gpu4")]


def test_boards_that_are_made_so() -> None:
    assert statuses(ruled("nvidia.topology_weaker", of(*matrix(8, "NV12")))) == [Status.PASS]
    pairs = ["X NV4 SYS SYS", "NV4 X SYS SYS", "SYS SYS X NV4", "SYS SYS NV4 X"]
    assert ruled("nvidia.topology_weaker", of(*pairs)) == []
    hybrid = ["X NV1 NV2 SYS", "NV1 X SYS NV2", "NV2 SYS X NV1", "SYS NV2 NV1 X"]
    assert ruled("nvidia.topology_weaker", of(*hybrid)) == []
    assert ruled("nvidia.topology_weaker", of(*matrix(4, "NODE"))) == []
    assert ruled("nvidia.topology_weaker", of("X PHB", "PHB X")) == []


def test_a_gpu_of_another_model_has_its_own_place() -> None:
    names = ("NVIDIA Q100", "NVIDIA Q100", "NVIDIA Q100", "NVIDIA Display")
    facts = of(*matrix(4, "NV4", {3: "SYS"}), names=names)
    assert statuses(ruled("nvidia.topology_weaker", facts)) == [Status.PASS]


def test_a_model_of_boards_without_links() -> None:
    found = ruled("nvidia.topology_weaker", of("X PHB", "PHB X", names=("NVIDIA Q100-SXM9-80GB",) * 2))
    assert named(found) == [(Status.FAIL, "gpu0"), (Status.FAIL, "gpu1")]
    assert ruled("nvidia.topology_weaker", of("X PHB", "PHB X", names=("NVIDIA Q100 80GB PCIe",) * 2)) == []


def test_two_hosts_that_differ() -> None:
    (finding,) = fleet("nvidia.topology_differs", a=of("X PHB", "PHB X"), b=of("X NV2", "NV2 X"))
    assert (finding.status, finding.subject) == (Status.FAIL, {"device": "gpu0"})
    assert "PHB on a, NV2 on b" in finding.message


def test_of_three_hosts_the_weaker_is_named() -> None:
    good, bad = of(*matrix(4, "NV18")), of(*matrix(4, "NV18", {3: "SYS"}))
    (finding,) = fleet("nvidia.topology_differs", a=good, b=bad, c=good)
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "b", "device": "gpu3"})
    assert finding.message.endswith("by NV18 on most hosts, and 2 more pairs are weaker")
    assert statuses(fleet("nvidia.topology_differs", a=good, c=good)) == [Status.PASS]


def test_the_stronger_is_no_fault() -> None:
    assert statuses(
        fleet("nvidia.topology_differs", a=of("X PHB", "PHB X"), b=of("X PHB", "PHB X"), c=of("X NV2", "NV2 X"))
    ) == [Status.PASS]


def test_hosts_of_other_models_are_not_compared() -> None:
    one, other = ("NVIDIA Q100",) * 2, ("NVIDIA Quux",) * 2
    assert (
        fleet("nvidia.topology_differs", a=of("X PHB", "PHB X", names=one), b=of("X NV2", "NV2 X", names=other)) == []
    )


def with_cards(*rows: str) -> dict[str, Any]:
    gpus = matrix(len(rows), "NV18")
    count = len(rows[0].split())
    return of(
        *(f"{gpu} {row}" for gpu, row in zip(gpus, rows, strict=True)), cards=tuple(f"mlx5_{n}" for n in range(count))
    )


def test_a_gpu_far_from_its_card() -> None:
    found = ruled("nvidia.card_far", with_cards("PIX SYS SYS", "SYS PIX SYS", "SYS SYS PIX", "SYS SYS NODE"))
    assert named(found) == [(Status.WARN, "gpu3")]
    assert statuses(ruled("nvidia.card_far", with_cards("PIX SYS", "PIX SYS", "SYS PXB", "SYS PIX"))) == [Status.WARN]


def test_fewer_cards_than_gpus_are_a_design() -> None:
    assert ruled("nvidia.card_far", with_cards("PIX", "PIX", "SYS", "SYS")) == []
    assert statuses(ruled("nvidia.card_far", with_cards("PIX SYS", "PIX SYS", "SYS PIX", "SYS PIX"))) == [Status.PASS]


def test_another_numa_node() -> None:
    here, there = of("X PIX", "PIX X"), of("X PIX", "PIX X")
    for device in there["accelerators"]["nvidia"]["devices"]:
        device["readings"]["topology"]["values"]["numa"] = "1"
    found = fleet("nvidia.numa_differs", a=here, b=there, c=here)
    assert [finding.subject for finding in found] == [{"host": "b", "device": "gpu0"}, {"host": "b", "device": "gpu1"}]
    assert fleet("nvidia.numa_differs", a=here, b=there) == []
