"""Facts become one graph: what is one device, what it hangs at, and what is nearest to it."""

from __future__ import annotations

import copy
import operator
from contextlib import suppress
from functools import reduce
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.topology import graph_of
from probes.topology.graph import Graph, Node, meaning, strength
from tests.probes.topology.machines import Facts, islands, laptop, machine, mesh, reading


def node(graph: Graph, name: str) -> Node:
    (found,) = [node for node in graph.nodes if node.name == name]
    return found


def kind(graph: Graph, one: str, other: str) -> str | None:
    return next((edge.kind for edge in graph.edges if {edge.a, edge.b} == {one, other}), None)


def test_an_rdma_device_and_its_interface_are_one_card() -> None:
    graph = graph_of(machine("nvidia", range(2), mesh("NV18"), cards=2))
    assert [(card.name, card.kind) for card in graph.of_kind("rdma", "nic")] == [("mlx5_0", "rdma"), ("mlx5_1", "rdma")]
    assert node(graph, "mlx5_0").attributes == {"interfaces": ["ens0"], "slot": "0000:14:00.0"}


def test_a_port_tells_its_interface_where_addresses_do_not() -> None:
    facts = {
        "network": {"interfaces": [{"name": "ib0", "virtual": False}, {"name": "eno1", "virtual": False}]},
        "rdma": {"devices": [{"name": "mlx5_0", "ports": [{"id": 1, "netdev": "ib0"}]}]},
    }
    graph = graph_of(facts)
    assert [(card.name, card.kind) for card in graph.nodes] == [("mlx5_0", "rdma"), ("eno1", "nic")]
    assert node(graph, "mlx5_0").attributes["interfaces"] == ["ib0"]


def test_the_parts_of_a_bond_are_one_card() -> None:
    facts = {
        "network": {"interfaces": [
            {"name": "bond0", "virtual": True},
            {"name": "ens1", "virtual": False, "master": "bond0", "pci_slot": "0000:31:00.0"},
            {"name": "ens2", "virtual": False, "master": "bond0", "pci_slot": "0000:31:00.1"},
        ]},
        "rdma": {"devices": [
            {"name": "mlx5_bond_0", "pci_slot": "0000:31:00.0", "ports": [{"id": 1, "netdev": "bond0"}]},
        ]},
    }  # fmt: skip
    (card,) = graph_of(facts).nodes
    assert (card.name, card.attributes["interfaces"]) == ("mlx5_bond_0", ["bond0", "ens1", "ens2"])


def test_virtual_functions_are_cards_only_where_there_is_nothing_else() -> None:
    facts = machine("nvidia", range(1), mesh("NV18"), cards=2)
    facts["pcie"]["devices"][-1]["virtual_function"] = True
    assert [card.name for card in graph_of(facts).of_kind("rdma", "nic")] == ["mlx5_0"]
    for device in facts["pcie"]["devices"]:
        device["virtual_function"] = True
    assert [card.name for card in graph_of(facts).of_kind("rdma", "nic")] == ["mlx5_0", "mlx5_1"]


def test_what_software_makes_up_is_no_card() -> None:
    facts = laptop()
    facts["rdma"]["devices"] = [
        {"name": "rxe0", "virtual": "soft", "ports": [{"netdev": "eth0"}]},
        {"name": "smi1", "virtual": "smi", "ports": []},
    ]
    assert [card.name for card in graph_of(facts).of_kind("rdma", "nic")] == ["eth0", "wlan0"]


def test_cards_are_in_the_order_of_their_numbers() -> None:
    facts = {"rdma": {"devices": [{"name": f"mlx5_{number}"} for number in (0, 1, 10, 2)]}}
    assert [card.name for card in graph_of(facts).nodes] == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_10"]


def test_devices_hang_at_switches_and_these_at_numa_nodes() -> None:
    graph = graph_of(machine("nvidia", range(4), mesh("NV18"), cards=4))
    assert node(graph, "gpu3").parent == node(graph, "mlx5_3").parent == "switch3"
    assert node(graph, "switch3").parent == "numa1"
    assert node(graph, "numa1").attributes == {"cpus": list(range(24, 48)), "socket": 1}


def test_a_switch_with_one_device_is_left_out() -> None:
    graph = graph_of(machine("nvidia", range(4), mesh("NV18")))
    assert graph.of_kind("switch") == ()
    assert node(graph, "gpu0").parent == "numa0"


@pytest.mark.parametrize(
    ("sockets", "expected"), [(1, [0, 0, 0, 0]), (2, [0, 0, 1, 1]), (3, [None] * 4), (0, [None] * 4)]
)
def test_numa_nodes_are_shared_out_to_sockets_where_that_is_possible(sockets: int, expected: list[int | None]) -> None:
    graph = graph_of(machine("nvidia", range(4), mesh("NV18"), numa=4, sockets=sockets))
    assert [cpu.attributes["socket"] for cpu in graph.of_kind("cpu")] == expected


def test_links_to_cards_follow_from_pci_addresses() -> None:
    graph = graph_of(machine("ascend", range(4), mesh("HCCS"), cards=4))
    assert [kind(graph, "npu0", f"mlx5_{card}") for card in range(4)] == ["PIX", "NODE", "SYS", "SYS"]
    assert kind(graph, "mlx5_0", "mlx5_1") == "NODE"


def test_the_only_numa_node_has_all_whose_node_is_not_told() -> None:
    graph = graph_of(laptop())
    assert {device.parent for device in graph.of_kind("nic")} == {"numa0"}


def matrix_of(**rows: dict[str, str]) -> Facts:
    return {"accelerators": {"ascend": {"devices": None, "readings": {"topology": reading(rows)}}}}


def test_a_matrix_alone_makes_a_graph() -> None:
    graph = graph_of(
        matrix_of(npu0={"npu1": "HCCS"}, npu1={"npu0": "HCCS"}, affinity={"npu0": "144-167", "npu1": "96-119"})
    )
    assert kind(graph, "npu0", "npu1") == "HCCS"
    assert [(cpu.name, cpu.numa) for cpu in graph.of_kind("cpu")] == [("cpus 144-167", None), ("cpus 96-119", None)]
    assert node(graph, "npu1").parent == "cpus 96-119"


def test_an_affinity_tells_the_numa_node() -> None:
    facts = matrix_of(npu0={"npu1": "HCCS"}, npu1={"npu0": "HCCS"}, affinity={"npu0": "24-47", "npu1": "0-23"})
    facts["numa"] = {"nodes": [{"id": 0, "cpus": list(range(24))}, {"id": 1, "cpus": list(range(24, 48))}]}
    graph = graph_of(facts)
    assert [node(graph, name).numa for name in ("npu0", "npu1")] == [1, 0]


def test_cards_of_a_matrix_are_beside_the_accelerators_they_are_near_to() -> None:
    rows = [
        {"links": {"1": "NV18"}, "cards": {"mlx5_0": "PIX", "mlx5_1": "SYS"}, "cpus": "0-7", "numa": "0"},
        {"links": {"0": "NV18"}, "cards": {"mlx5_0": "SYS", "mlx5_1": "NODE"}, "cpus": "8-15", "numa": "1"},
    ]
    devices = [{"id": number, "readings": {"topology": reading(row)}} for number, row in enumerate(rows)]
    graph = graph_of({"accelerators": {"nvidia": {"devices": devices, "readings": {}}}})
    assert [(card.name, card.parent) for card in graph.of_kind("rdma")] == [("mlx5_0", "numa0"), ("mlx5_1", "numa1")]
    assert [(one.device, one.nics, one.kind) for one in graph.nearest] == [
        ("gpu0", ("mlx5_0",), "PIX"),
        ("gpu1", ("mlx5_1",), "NODE"),
    ]


def test_cards_of_a_matrix_that_are_only_numbered_are_left_out() -> None:
    assert graph_of(matrix_of(npu0={"npu1": "HCCS", "nic0": "PIX"})).of_kind("rdma", "nic") == ()


def test_an_npu_is_found_by_its_card_and_by_its_physical_id() -> None:
    facts = matrix_of(npu0={"npu4": "SYS"})
    facts["accelerators"]["ascend"]["devices"] = [
        {"id": 0, "card": 0, "chip": 0}, {"id": 1, "card": 0, "chip": 1}, {"id": 8, "card": 4, "chip": 0},
    ]  # fmt: skip
    assert kind(graph_of(facts), "npu0", "npu8") == "SYS"
    facts["accelerators"]["ascend"]["readings"]["topology"] = reading({"phy1": {"phy8": "HCCS_SW"}})
    graph = graph_of(facts)
    assert kind(graph, "npu1", "npu8") == "HCCS_SW"
    assert len(graph.of_kind("accelerator")) == 3


def test_all_tied_cards_are_nearest() -> None:
    facts = machine("nvidia", range(4), mesh("NV18"), cards=4)
    assert [one.nics for one in graph_of(facts).nearest] == [(f"mlx5_{card}",) for card in range(4)]
    for device in facts["pcie"]["devices"]:
        device["upstream"] = None
    found = [(one.nics, one.kind) for one in graph_of(facts).nearest]
    assert found == [(("mlx5_0", "mlx5_1"), "NODE")] * 2 + [(("mlx5_2", "mlx5_3"), "NODE")] * 2


def test_cards_without_rdma_count_where_no_other_is_there() -> None:
    facts = machine("nvidia", range(2), mesh("NV18"), cards=2)
    facts["rdma"] = {"devices": []}
    assert [one.nics for one in graph_of(facts).nearest] == [("ens0",), ("ens1",)]


def without_card(vendor: str, place: int) -> Facts:
    """Four NUMA nodes, of which one has no card."""
    facts = machine(vendor, range(4), mesh("NV18"), cards=4, numa=4)
    for section, key in (("rdma", "devices"), ("network", "interfaces")):
        facts[section][key] = [row for row in facts[section][key] if not row["name"].endswith(str(place))]
    return facts


def test_an_accelerator_is_far_from_cards_where_most_are_near() -> None:
    graph = graph_of(without_card("nvidia", 2))
    assert [(one.device, one.kind) for one in graph.nearest if one.far] == [("gpu2", "SYS")]


def test_npus_have_ports_of_their_own() -> None:
    assert not any(one.far for one in graph_of(without_card("ascend", 2)).nearest)


def test_half_of_the_accelerators_being_far_is_how_the_host_is_built() -> None:
    facts = machine("nvidia", range(4), mesh("NV18"), cards=4)
    facts["rdma"]["devices"], facts["network"] = facts["rdma"]["devices"][:2], {}
    assert not any(one.far for one in graph_of(facts).nearest)


def test_devices_of_two_vendors_with_one_number_are_told_apart() -> None:
    facts = machine("nvidia", range(1), mesh("NV18"))
    facts["accelerators"] |= machine("amd", range(1), mesh("XGMI"))["accelerators"]
    assert [device.name for device in graph_of(facts).of_kind("accelerator")] == ["gpu0", "amd-gpu0"]


def test_names_are_unique_whatever_interfaces_are_called() -> None:
    facts = machine("nvidia", range(1), mesh("NV18"), cards=1)
    facts["rdma"] = {}
    facts["network"]["interfaces"] += [
        {"name": name, "virtual": False} for name in ("gpu0", "numa0", "switch0", "numa0", "cpus 1")
    ]
    names = [device.name for device in graph_of(facts).nodes]
    assert len(names) == len(set(names))


def test_links_are_ordered() -> None:
    kinds = ["NV18", "NV4", "HCCS", "SIO", "PIX", "PXB", "PHB", "NODE", "SYS", "XYZ"]
    assert all(strength(one) < strength(other) for one, other in pairwise(kinds))
    assert meaning("NV18") == "a bonded set of 18 NVLinks"


KEYS = st.sampled_from([
    "accelerators", "ascend", "nvidia", "amd", "devices", "readings", "topology", "values", "matrix", "links", "cards",
    "affinity", "cpus", "numa", "npu0", "npu1", "phy3", "nodes", "id", "name", "bus", "rdma", "network", "interfaces",
    "pci_slot", "numa_node", "pcie", "upstream", "cpu", "sockets", "ports", "netdev", "virtual",
])  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.floats(), st.text(max_size=8),
    st.sampled_from(["HCCS", "NV18", "PIX", "0000:3b:00.0", "00000000:3B:00.0", "0-3", "3", "X", ""]),
)  # fmt: skip
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5)
)


def well_made(graph: Graph) -> None:
    """Names are unique, and what is named is there."""
    names = [device.name for device in graph.nodes]
    assert len(names) == len(set(names))
    assert {device.parent for device in graph.nodes} - {None} <= set(names)
    assert {end for edge in graph.edges for end in (edge.a, edge.b)} <= set(names)
    assert {nic for one in graph.nearest for nic in (one.device, *one.nics)} <= set(names)


@given(ANYTHING)
@settings(deadline=None)
def test_any_facts_make_a_graph(facts: Any) -> None:
    well_made(graph_of(facts))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in [(*path, key), *places(item, (*path, key))]]


MACHINE = machine("nvidia", range(3), islands(2, "NV18", "SYS"), cards=2) | {
    "accelerators": machine("ascend", range(3), mesh("HCCS"))["accelerators"]
    | machine("nvidia", range(2), mesh("NV18"))["accelerators"]
}
PLACES = places(MACHINE)


@given(st.lists(st.tuples(st.sampled_from(PLACES), ANYTHING), min_size=1, max_size=3))
@settings(deadline=None)
def test_facts_with_something_else_in_them_make_a_graph(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    facts = copy.deepcopy(MACHINE)
    for path, instead in changes:
        # An earlier change may have taken the place away.
        with suppress(KeyError, IndexError, TypeError):
            reduce(operator.getitem, path[:-1], facts)[path[-1]] = instead
    well_made(graph_of(facts))
