"""The link between any two devices: what a vendor's matrix says of it, else what PCI addresses and NUMA nodes tell.

May import: probes.topology.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from probes.topology.devices import Device
from probes.topology.graph import Edge, strength
from probes.topology.told import Told

Words = Mapping[tuple[str, str], str]
"""(row, column) of a matrix, as names of devices -> word."""


def edges(devices: Sequence[Device], told: Mapping[str, Told]) -> tuple[Edge, ...]:
    words = {key: word for vendor, links in told.items() for key, word in _words(devices, vendor, links)}
    matrices = {vendor for vendor, links in told.items() if links.matrix}
    return tuple(edge for one, other in combinations(devices, 2) if (edge := _edge(one, other, words, matrices)))


def _words(devices: Sequence[Device], vendor: str, links: Told) -> Iterator[tuple[tuple[str, str], str]]:
    able = [device for device in devices if device.attributes.get("vendor") in (vendor, None)]
    names = {label: device.name for device in reversed(able) for label in device.labels}
    for row, cells in links.matrix.items():
        for column, word in cells.items():
            one, other = names.get(row), names.get(column)
            if one and other and one != other:
                yield (one, other), word


def _edge(one: Device, other: Device, words: Words, matrices: set[str]) -> Edge | None:
    said = [word for key in ((one.name, other.name), (other.name, one.name)) if (word := words.get(key))]
    if said:
        kind = max(said, key=strength)
        return Edge(one.name, other.name, kind, "matrix", other=next((word for word in said if word != kind), None))
    vendors = {one.attributes.get("vendor"), other.attributes.get("vendor")}
    if len(vendors) == 1 and vendors <= matrices:
        return None  # a cell that is missing from a matrix: their way over PCIe need not be their link
    found = one.place.kind_to(other.place)
    return Edge(one.name, other.name, *found) if found else None
