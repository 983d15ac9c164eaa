"""Rules about the matrix of `nvidia-smi topo -m`, from what it prints to the finding."""

from __future__ import annotations

from itertools import pairwise
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
    assert (finding.status, finding.subject) == (Status.WARN, {"device": "gpu0"})
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


def test_each_way_is_worse_than_the_one_before() -> None:
    ways = ["PIX", "PXB", "PHB", "NODE", "SYS"]
    for better, worse in pairwise(ways):
        hosts = {name: of(f"X {better}", f"{better} X") for name in "ab"}
        (finding,) = fleet("nvidia.topology_differs", **hosts, c=of(f"X {worse}", f"{worse} X"))
        assert finding.subject == {"host": "c", "device": "gpu0"}
        assert finding.evidence["threshold"] == better
    same = {name: of(f"X {way}", f"{way} X") for name, way in (("a", "SYS"), ("b", "SOC"), ("c", "SYS"))}
    assert statuses(fleet("nvidia.topology_differs", **same)) == [Status.PASS]


def test_of_two_hosts_the_weaker_way_is_shown_and_none_is_blamed() -> None:
    for ways in (("NV4", "SYS"), ("SYS", "NV4")):
        hosts = {name: of(f"X {way}", f"{way} X") for name, way in zip("ab", ways, strict=True)}
        (finding,) = fleet("nvidia.topology_differs", **hosts)
        assert "host" not in finding.subject
        assert (finding.evidence["value"], finding.evidence["threshold"]) == ({"1": "SYS"}, "NV4")


def test_how_many_pairs_more() -> None:
    def three(first: str, second: str) -> dict[str, Any]:
        return of(f"X {first} {second}", f"{first} X NV4", f"{second} NV4 X")

    well = three("NV4", "NV4")
    (finding,) = fleet("nvidia.topology_differs", a=well, b=well, c=three("SYS", "NV4"))
    assert finding.message == "gpu0 reaches gpu1 by SYS, and by NV4 on most hosts"
    (finding,) = fleet("nvidia.topology_differs", a=well, b=well, c=three("SYS", "SYS"))
    assert finding.message == "gpu0 reaches gpu1 by SYS, and by NV4 on most hosts, and 1 more pairs are weaker"
    (finding,) = fleet("nvidia.topology_differs", a=well, b=three("SYS", "NV4"))
    assert finding.message == "the way from gpu0 to gpu1 differs between hosts: NV4 on a, SYS on b"
    (finding,) = fleet("nvidia.topology_differs", a=well, b=three("SYS", "SYS"))
    assert finding.message.endswith("SYS on b; 1 more pairs differ")


def test_of_a_weak_pair_both_are_told() -> None:
    rows = ["X SYS NV4 NV4", "SYS X NV4 NV4", "NV4 NV4 X NV4", "NV4 NV4 NV4 X"]
    found = ruled("nvidia.topology_weaker", of(*rows))
    assert [finding.message for finding in found] == [
        "gpu0 reaches gpu1 by SYS, where NV4 is usual on this host",
        "gpu1 reaches gpu0 by SYS, where NV4 is usual on this host",
    ]


def test_the_ways_of_a_weak_gpu_are_told_from_the_best() -> None:
    rows = ["X NV4 NV4 NV4 SYS", "NV4 X NV4 NV4 PHB", "NV4 NV4 X NV4 NV2", "NV4 NV4 NV4 X NV2", "SYS PHB NV2 NV2 X"]
    (finding,) = ruled("nvidia.topology_weaker", of(*rows))
    assert finding.message == "gpu4 reaches the others by NV2, PHB, SYS, where NV4 is usual on this host"


def test_three_cards_are_too_few_and_far_ones_are_a_design() -> None:
    near = ["X SYS SYS SYS PXB", "SYS X SYS SYS PXB", "SYS SYS X SYS PXB", "SYS SYS SYS X NODE"]
    (finding,) = ruled("nvidia.card_far", of(*near, cards=("NIC0",)))
    assert (finding.subject["device"], finding.evidence["threshold"]) == ("gpu3", "PXB")
    assert ruled("nvidia.card_far", of(*(row.replace("PXB", "PHB") for row in near), cards=("NIC0",))) == []
    three = ["X SYS SYS PXB", "SYS X SYS PXB", "SYS SYS X NODE"]
    assert ruled("nvidia.card_far", of(*three, cards=("NIC0",))) == []
    assert ruled("nvidia.card_far", of("X SYS", "SYS X")) == []


def test_numa_nodes_need_another_host_to_differ_from() -> None:
    alone = of("X SYS", "SYS X")
    assert fleet("nvidia.numa_differs", a=alone) == []
    assert statuses(fleet("nvidia.numa_differs", a=alone, b=alone)) == [Status.PASS]
    moved = facts_of({"nvidia-smi topo -m": topology(("X SYS", "SYS X")).replace("0-31,64-95\t0", "0-31,64-95\t1")})
    found = fleet("nvidia.numa_differs", a=alone, b=alone, c=moved)
    assert [(finding.subject, finding.evidence["threshold"]) for finding in found] == [
        ({"host": "c", "device": name}, "0") for name in ("gpu0", "gpu1")
    ]


def test_a_matrix_of_which_nobody_may_tell() -> None:
    facts = facts_of(
        {"nvidia-smi nvlink -s": "GPU 0: Q (UUID: x)\n", "nvidia-smi topo -m": "Insufficient Permissions\n"}
    )
    assert ruled("nvidia.topology_weaker", facts) == []
    assert ruled("nvidia.card_far", facts) == []
    assert fleet("nvidia.topology_differs", a=facts, b=facts) == []
    assert fleet("nvidia.numa_differs", a=facts, b=facts) == []


def test_another_model_counts_for_nothing_on_a_host() -> None:
    names = ("NVIDIA Q100", "NVIDIA Q100", "NVIDIA Q100", "Q 1")
    rows = ["X NV4 NV4 SYS", "NV4 X NV4 SYS", "NV4 NV4 X SYS", "SYS SYS SYS X"]
    assert statuses(ruled("nvidia.topology_weaker", of(*rows, names=names))) == [Status.PASS]


def test_what_a_board_without_its_links_is_compared_with() -> None:
    (finding, _) = ruled("nvidia.topology_weaker", of("X SYS", "SYS X", names=("NVIDIA H200",) * 2))
    assert (finding.evidence["threshold"], finding.evidence["source"]) == ("NVLink", "its model")


def test_cards_without_a_bridge_beside_some_with_one() -> None:
    rows = ("X NV12 SYS SYS", "NV12 X SYS SYS", "SYS SYS X NODE", "SYS SYS NODE X")
    names = ("NVIDIA H100 NVL",) * 4
    found = ruled("nvidia.topology_weaker", of(*rows, names=names))
    assert named(found) == [(Status.INFO, "gpu2"), (Status.INFO, "gpu3")]
    assert ruled("nvidia.topology_weaker", of("X SYS", "SYS X", names=names[:2])) == []
