"""How the devices of a host reach each other, as a graph that is made of its facts.

Facts are those of the record of `opsdist info` (JSON values), of this host or of any other. Pure and total: whatever
they hold, a graph comes out, if need be an empty one. May import: probes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from probes.topology import links, pci, symmetry, tree
from probes.topology.devices import Device, accelerators, cards
from probes.topology.given import below, rows, whole
from probes.topology.graph import Edge, Graph, is_near
from probes.topology.nearest import nearest
from probes.topology.told import VENDORS, told

SECTIONS = ("cpu", "numa", "network", "rdma", "pcie", "accelerators")
"""The sections of `opsdist info` that are looked at; any of them may be missing."""


def graph_of(facts: Any) -> Graph:
    said = {vendor.name: told(facts, vendor) for vendor in VENDORS}
    places = pci.places(facts)
    devices = _on_the_only_node(facts, _unique([*accelerators(facts, said, places), *cards(facts, said, places)]))
    edges = links.edges(devices, said)
    nodes = tree.nodes(facts, _beside_accelerators(devices, edges))
    uneven = symmetry.asymmetries([node for node in nodes if node.kind == "accelerator"], edges)
    weak = {frozenset((one.device, peer)) for one in uneven for peer in one.peers}
    marked = tuple(replace(edge, weak=frozenset((edge.a, edge.b)) in weak) for edge in edges)
    return Graph(nodes, marked, uneven, nearest(nodes, marked))


def _unique(devices: Sequence[Device]) -> list[Device]:
    """A card may be called like something else here, by whoever names interfaces."""
    found: dict[str, Device] = {}
    for device in devices:
        name = device.name
        while name in found or name.startswith(tree.PREFIXES):
            name = f"'{name}"
        found[name] = replace(device, name=name)
    return list(found.values())


def _on_the_only_node(facts: Any, devices: Sequence[Device]) -> list[Device]:
    """Where a host has one NUMA node, all is on that, although the kernel says -1."""
    ids = {whole(row.get("id")) for row in rows(below(facts, "numa", "nodes"))} - {None}
    if len(ids) != 1:
        return list(devices)
    (only,) = ids
    return [_at(device, only) for device in devices]


def _beside_accelerators(devices: Sequence[Device], edges: Sequence[Edge]) -> list[Device]:
    """A card that only a matrix tells of is on the NUMA node of those that are near to it."""
    numa = {device.name: device.place.numa for device in devices if device.kind == "accelerator"}
    near = {edge.b: numa[edge.a] for edge in edges if numa.get(edge.a) is not None and is_near(edge.kind)}
    return [device if device.kind == "accelerator" else _at(device, near.get(device.name)) for device in devices]


def _at(device: Device, numa: int | None) -> Device:
    """There, unless it is known to be elsewhere."""
    return device if device.place.numa is not None else replace(device, place=replace(device.place, numa=numa))
