"""Rules about how NPUs reach each other, from the matrix that npu-smi prints to the finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from suites.report import Status
from tests.probes.ascend.npu_samples import COLUMNS, mapping, matrix, mesh
from tests.suites.checks.ruled import fleet, ruled, statuses
from tests.suites.checks.told import facts_of

WEAK = "ascend.topology_weak"
QUESTION = "npu-smi info -t topo"


def told(text: str) -> dict[str, Any]:
    return facts_of({QUESTION: text})


def fallen(number: int, size: int = 8, cell: str = "SYS") -> str:
    """A mesh in which one NPU reaches all others by something else."""
    others = [other for other in range(size) if other != number]
    return mesh(size, **{"_".join(sorted((f"npu{number}", f"npu{other}"))): cell for other in others})


def grouped(groups: Sequence[int], within: str, between: str, name: str = "NPU") -> str:
    """Groups of NPUs with one path within, and another between them."""
    member = [group for group, size in enumerate(groups) for _ in range(size)]
    return matrix({
        f"{name}{one}": [
            "X" if one == other else within if member[one] == member[other] else between
            for other in range(len(member))
        ]
        for one in range(len(member))
    })  # fmt: skip


def test_an_npu_that_fell_out_of_the_mesh_is_named_once() -> None:
    (finding,) = ruled(WEAK, told(fallen(5)))
    assert (finding.status, finding.subject["device"]) == (Status.FAIL, "npu5")
    assert "by SYS, others by HCCS" in finding.message
    assert finding.evidence["line"].startswith("NPU5")


def test_a_single_weak_path_names_both_ends() -> None:
    (finding,) = ruled(WEAK, told(mesh(4, npu1_npu2="PXB")))
    assert finding.message == "npu1 reaches npu2 by PXB, others by HCCS"


def test_two_npus_that_fell_out() -> None:
    pairs = {f"npu{min(one, bad)}_npu{max(one, bad)}": "SYS" for bad in (2, 6) for one in range(8) if one != bad}
    found = ruled(WEAK, told(mesh(8, **pairs)))
    assert {finding.subject["device"] for finding in found} == {"npu2", "npu6"}


def test_several_weak_paths_of_one_that_still_has_others() -> None:
    found = ruled(WEAK, told(mesh(6, npu1_npu2="SYS", npu1_npu3="SYS")))
    assert [finding.subject["device"] for finding in found] == ["npu1"]


@pytest.mark.parametrize(
    "text",
    [
        mesh(8),
        mesh(8, "SYS"),
        mesh(4, "PIX"),
        grouped((4, 4), "UB", "SYS"),
        grouped((2, 2, 2, 2), "UB", "SYS"),
        grouped((2, 2), "PXB", "SYS"),
        grouped((4, 4), "HCCS", "PHB"),
        grouped((2, 2, 2), "SIO", "HCCS_SW", name="Phy-ID"),
    ],
    ids=["mesh", "no links", "one switch", "fours", "pairs", "two switches", "two meshes", "dies"],
)
def test_other_shapes_are_no_fault(text: str) -> None:
    assert statuses(ruled(WEAK, told(text))) == [Status.PASS]
    assert set(statuses(ruled("ascend.chip_isolated", told(text)))) <= {Status.PASS}


def test_a_missing_bridge_is_a_warning() -> None:
    assert statuses(ruled(WEAK, told(grouped((2, 1), "UB", "SYS")))) == [Status.WARN]


def test_paths_that_the_driver_could_not_tell_warn() -> None:
    (finding,) = ruled(WEAK, told(fallen(3, cell="NA")))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "npu3")


def test_network_cards_and_words_that_were_cut_are_no_weak_paths() -> None:
    cells = {"NPU0": ["X", "HCCS", "PIX"], "NPU1": ["HCCS", "X", "SYS"], "NIC0": ["PIX", "SYS", "X"]}
    assert statuses(ruled(WEAK, told(matrix(cells)))) == [Status.PASS]
    assert statuses(ruled(WEAK, told(mesh(3).partition("NPU2       HCCS")[0] + "NPU2       HCCS       HC"))) == [
        Status.PASS
    ]


def test_dies_that_reach_other_cards_pass() -> None:
    text = grouped((2, 2), "SIO", "HCCS_SW", name="Phy-ID")
    assert statuses(ruled("ascend.chip_isolated", told(text))) == [Status.PASS]


def test_the_matrix_has_cards_and_findings_have_physical_ids() -> None:
    chips = mapping(COLUMNS, *((str(n), "0", str(n - 1), "Ascend 310P3") for n in range(1, 5)))
    cells = {f"NPU{one}": ["X" if one == other else "SYS" if 2 in (one, other) else "HCCS" for other in range(1, 5)]
             for one in range(1, 5)}  # fmt: skip
    (finding,) = ruled(WEAK, facts_of({"npu-smi info -m": chips, QUESTION: matrix(cells)}))
    assert finding.subject["device"] == "npu1"


def test_dies_without_any_path_to_other_cards() -> None:
    found = ruled("ascend.chip_isolated", told(grouped((2, 2), "SIO", "SYS", name="Phy-ID")))
    assert statuses(found) == [Status.WARN] * 4
    assert found[0].message == "npu0 reaches no other card by HCCS, only by SYS"


def test_a_card_that_is_cut_off_from_the_others() -> None:
    def cell(one: int, other: int) -> str:
        cards = {one // 2, other // 2}
        return "X" if one == other else "SIO" if len(cards) == 1 else "SYS" if 2 in cards else "HCCS_SW"

    cells = {f"Phy-ID{one}": [cell(one, other) for other in range(8)] for one in range(8)}
    facts = told(matrix(cells, affinity=False))
    found = ruled("ascend.chip_isolated", facts)
    assert statuses(found) == [Status.FAIL] * 2
    assert [finding.subject["device"] for finding in found] == ["npu4", "npu5"]
    assert statuses(ruled(WEAK, facts)) == [Status.PASS]


def test_rows_that_were_cut_off_are_known_by_their_columns() -> None:
    whole = grouped((2, 2), "SIO", "SYS", name="Phy-ID")
    found = ruled("ascend.chip_isolated", told(whole.partition("Phy-ID2    SYS")[0]))
    assert [finding.subject["device"] for finding in found] == ["npu0", "npu1", "npu2", "npu3"]


def test_a_host_whose_paths_are_weaker_than_those_of_most() -> None:
    whole, weak = told(mesh(4)), told(mesh(4, npu1_npu2="SYS"))
    found = fleet("ascend.topology_differs", a=whole, b=weak, c=whole)
    (finding,) = [one for one in found if one.status is not Status.PASS]
    assert (finding.status, finding.subject) == (Status.FAIL, {"host": "b", "device": "npu1"})
    assert "npu1 to npu2 SYS for HCCS" in finding.message


def test_the_npu_with_most_of_the_weaker_paths_is_named() -> None:
    found = fleet("ascend.topology_differs", a=told(mesh()), b=told(fallen(5)), c=told(mesh()))
    assert [one.subject.get("device") for one in found if one.status is Status.FAIL] == ["npu5"]
    pairs = told(mesh(4, npu0_npu1="SYS", npu2_npu3="SYS"))
    found = fleet("ascend.topology_differs", a=told(mesh(4)), b=pairs, c=told(mesh(4)))
    assert [one.subject for one in found if one.status is Status.FAIL] == [{"host": "b"}]


def test_of_two_hosts_none_is_to_blame() -> None:
    found = fleet("ascend.topology_differs", a=told(mesh(4)), b=told(mesh(4, "SYS")))
    (finding,) = [one for one in found if one.status is not Status.PASS]
    assert (finding.status, finding.subject) == (Status.WARN, {})
    assert "6 paths" in finding.message


def test_equal_hosts_pass_and_other_sizes_are_not_compared() -> None:
    assert set(statuses(fleet("ascend.topology_differs", a=told(mesh(4)), b=told(mesh(4))))) == {Status.PASS}
    assert fleet("ascend.topology_differs", a=told(mesh(4)), b=told(mesh(8))) == []


def test_dies_that_lost_their_own_link_are_named() -> None:
    def cell(one: int, other: int) -> str:
        own = one // 2 == other // 2 and one // 2 != 1
        return "X" if one == other else "SIO" if own else "HCCS_SW"

    names = [f"Phy-ID{number}" for number in range(6)]
    rows = [" ".join([name, *(cell(one, other) for other in range(6))]) for one, name in enumerate(names)]
    (finding,) = ruled("ascend.dies_apart", told("\n".join([" ".join(names), *rows]) + "\n"))
    assert (finding.status, finding.subject["device"]) == (Status.WARN, "npu2")
    assert "npu3, the other die of its card, by HCCS_SW" in finding.message
    whole = told(grouped((2, 2, 2), "SIO", "HCCS_SW", name="Phy-ID"))
    assert statuses(ruled("ascend.dies_apart", whole)) == [Status.PASS]
    assert ruled("ascend.dies_apart", told(grouped((4, 4), "HCCS", "SYS", name="Phy-ID"))) == []
