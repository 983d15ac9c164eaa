"""What breaks the symmetry of links is marked, and what is built in groups is not."""

from __future__ import annotations

import pytest

from probes.topology import graph_of
from probes.topology.graph import Asymmetry
from tests.probes.topology.machines import Facts, Word, but, islands, machine, mesh

EIGHT = range(8)


def cube_mesh(one: int, other: int) -> str:
    """Eight GPUs of which each has two strong and two weak neighbours, as on the first DGX."""
    return {1: "NV1", 2: "NV1", 3: "NV2", 4: "NV2"}.get(one ^ other, "SYS")


def dies(one: int, other: int) -> str:
    """Two on a card, and a switch between all cards."""
    return "SIO" if one // 2 == other // 2 else "HCCS_SW"


def ascend(word: Word, count: int = 8) -> Facts:
    return machine("ascend", range(count), word)


@pytest.mark.parametrize(
    "facts",
    [
        ascend(mesh("HCCS")),
        ascend(islands(4, "UB", "SYS")),
        ascend(islands(2, "UB", "SYS")),
        ascend(mesh("SYS")),
        ascend(dies, 16),
        machine("nvidia", EIGHT, cube_mesh),
        machine("amd", EIGHT, islands(4, "XGMI", "PCIE")),
        machine("nvidia", range(4), islands(2, "PIX", "SYS")),
        machine("nvidia", range(4), but(islands(2, "PIX", "SYS"), [(0, 1)], "PHB")),
        machine("nvidia", range(3), islands(2, "NV4", "PHB")),
        machine("nvidia", range(1), mesh("NV18")),
    ],
    ids=[
        "full mesh", "fours", "bridged pairs", "no fabric", "dies", "cube mesh", "hives", "PCIe", "PCIe in disorder",
        "odd one out of pairs", "alone",
    ],
)  # fmt: skip
def test_a_regular_structure_is_not_marked(facts: Facts) -> None:
    graph = graph_of(facts)
    assert graph.asymmetries == ()
    assert not any(edge.weak for edge in graph.edges)


def marked(facts: Facts) -> dict[str, Asymmetry]:
    return {one.device: one for one in graph_of(facts).asymmetries}


def test_an_accelerator_that_fell_out_of_the_mesh_is_the_only_one_named() -> None:
    (one,) = marked(ascend(mesh("HCCS", _5="SYS"))).values()
    assert (one.device, one.kinds, one.usual) == ("npu5", ("SYS",), "HCCS")
    assert one.peers == ("npu0", "npu1", "npu2", "npu3", "npu4", "npu6", "npu7")


def test_two_that_fell_out_are_both_named() -> None:
    assert set(marked(ascend(mesh("HCCS", _2="SYS", _5="NODE")))) == {"npu2", "npu5"}


def test_one_that_fell_out_of_a_four_is_weak_to_its_own_four_only() -> None:
    lost = but(islands(4, "UB", "SYS"), [(2, 0), (2, 1), (2, 3)], "SYS")
    assert marked(ascend(lost))["npu2"].peers == ("npu0", "npu1", "npu3")


def test_a_pair_that_lost_its_bridge_is_found_among_pairs() -> None:
    (one,) = marked(ascend(but(islands(2, "UB", "SYS"), [(4, 5)], "SYS"))).values()
    assert (one.device, one.peers) == ("npu4", ("npu5",))


def test_a_single_link_that_fell_back() -> None:
    (one,) = marked(machine("amd", EIGHT, but(mesh("XGMI"), [(2, 5)], "PCIE"))).values()
    assert (one.device, one.peers, one.kinds, one.usual) == ("gpu2", ("gpu5",), ("PCIE",), "XGMI")


@pytest.mark.parametrize("lost", [2, 3, 4])
def test_some_links_of_one_accelerator(lost: int) -> None:
    found = marked(ascend(but(mesh("HCCS"), [(5, other) for other in range(lost)], "SYS")))
    assert found["npu5"].peers == tuple(f"npu{other}" for other in range(lost))
    assert set(found) == {"npu5"}


def test_fewer_nvlinks_than_the_others_have() -> None:
    (one,) = marked(machine("nvidia", EIGHT, mesh("NV18", _5="NV16"))).values()
    assert (one.device, one.kinds, one.usual) == ("gpu5", ("NV16",), "NV18")


def test_a_die_that_reaches_only_the_other_one_on_its_card() -> None:
    cut = but(dies, [(5, other) for other in range(16) if other not in (4, 5)], "SYS")
    (one,) = marked(ascend(cut, 16)).values()
    assert (one.device, one.usual, len(one.peers)) == ("npu5", "HCCS_SW", 14)


def test_an_edge_is_weak_where_an_asymmetry_says_so() -> None:
    graph = graph_of(ascend(mesh("HCCS", _5="SYS")))
    assert {frozenset((edge.a, edge.b)) for edge in graph.edges if edge.weak} == {
        frozenset(("npu5", peer)) for peer in graph.asymmetries[0].peers
    }


def test_models_are_not_compared_with_each_other() -> None:
    facts = machine("nvidia", range(5), mesh("NV12", _4="SYS"), model="A100")
    assert set(marked(facts)) == {"gpu4"}
    facts["accelerators"]["nvidia"]["devices"][4]["name"] = "T400"
    assert marked(facts) == {}


def test_a_link_between_two_is_told_apart_from_those_that_are_as_weak_by_design() -> None:
    (one,) = marked(machine("nvidia", EIGHT, but(cube_mesh, [(0, 3)], "NV1"))).values()
    assert (one.device, one.peers, one.kinds, one.usual) == ("gpu0", ("gpu3",), ("NV1",), "NV2")


def test_a_cell_that_was_cut_off_is_not_weak() -> None:
    facts = ascend(mesh("HCCS"))
    matrix = facts["accelerators"]["ascend"]["readings"]["topology"]["values"]
    for row in matrix.values():
        row.pop("npu7", None)
    del matrix["npu7"]
    assert marked(facts) == {}


def test_what_both_directions_say_differently_counts_as_the_weaker() -> None:
    facts = ascend(mesh("HCCS"))
    facts["accelerators"]["ascend"]["readings"]["topology"]["values"]["npu3"]["npu1"] = "SYS"
    graph = graph_of(facts)
    (edge,) = [edge for edge in graph.edges if edge.other is not None]
    assert (edge.a, edge.b, edge.kind, edge.other, edge.weak) == ("npu1", "npu3", "SYS", "HCCS", True)
