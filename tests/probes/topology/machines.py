"""Made-up machines for tests of the topology: the facts of a host, as the record of `opsdist info` has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Facts = dict[str, Any]
Word = Callable[[int, int], str]

_PREFIX = {"ascend": "npu", "nvidia": "gpu", "amd": "gpu"}


def mesh(kind: str, **other: str) -> Word:
    """All pairs of one kind, but those of the accelerators that are named: `mesh("HCCS", _5="SYS")`."""
    fallen = {int(name.removeprefix("_")): word for name, word in other.items()}
    return lambda one, two: fallen.get(one) or fallen.get(two) or kind


def islands(size: int, kind: str, between: str) -> Word:
    """Groups of `size` neighbours."""
    return lambda one, two: kind if one // size == two // size else between


def but(word: Word, pairs: Iterable[tuple[int, int]], instead: str) -> Word:
    """The same, with these pairs fallen back."""
    broken = {frozenset(pair) for pair in pairs}
    return lambda one, two: instead if frozenset((one, two)) in broken else word(one, two)


def reading(values: Mapping[str, Any]) -> Facts:
    return {
        "source": "made up", "state": "told", "reason": None, "values": dict(values), "counters": {}, "momentary": {},
        "lines": {},
    }  # fmt: skip


def machine(
    vendor: str,
    ids: Sequence[int],
    word: Word,
    *,
    model: str | None = None,
    numa: int = 2,
    cards: int = 0,
    sockets: int = 2,
) -> Facts:
    """Accelerators with a matrix, shared out to NUMA nodes of 24 CPUs in the order of their ids; and RDMA cards, each
    on the same PCIe switch as the accelerator of its place."""
    rows = {number: {other: word(number, other) for other in ids if other != number} for number in ids}
    devices: list[Facts] = [
        {"id": number, "name": model, "bus": _slot(place, 0), "readings": {}} for place, number in enumerate(ids)
    ]
    readings = {}
    if vendor == "ascend":
        matrix = {f"npu{one}": {f"npu{two}": kind for two, kind in row.items()} for one, row in rows.items()}
        readings["topology"] = reading(matrix)
    else:
        for device in devices:
            links = {str(other): kind for other, kind in rows[device["id"]].items()}
            device["readings"] = {"topology": reading({"links": links})}
    nodes = [_node(place, len(ids), numa) for place in range(max(len(ids), cards))]
    return {
        "cpu": {"sockets": sockets},
        "numa": {"nodes": [{"id": node, "cpus": list(range(24 * node, 24 * node + 24))} for node in range(numa)]},
        "network": {"interfaces": [
            {"name": f"ens{place}", "pci_slot": _slot(place, 1), "numa_node": nodes[place], "virtual": False}
            for place in range(cards)
        ] + [{"name": "lo", "pci_slot": None, "numa_node": None, "virtual": True}]},
        "rdma": {"devices": [
            {"name": f"mlx5_{place}", "pci_slot": _slot(place, 1), "numa_node": nodes[place], "ports": []}
            for place in range(cards)
        ]},
        "pcie": {"devices": [
            {"id": _slot(place, device), "numa_node": nodes[place], "upstream": _bridges(place, device)}
            for place in range(max(len(ids), cards)) for device in (0, 1)
        ]},
        "accelerators": {vendor: {"devices": devices, "readings": readings}},
    }  # fmt: skip


def laptop() -> Facts:
    """One socket, a card on the root bus, a wireless one, and what software makes up."""
    return {
        "cpu": {"sockets": 1},
        "numa": {"nodes": [{"id": 0, "cpus": [0, 1, 2, 3]}]},
        "network": {"interfaces": [
            {"name": "docker0", "pci_slot": None, "numa_node": None, "virtual": True},
            {"name": "eth0", "pci_slot": "0000:00:1f.6", "numa_node": None, "virtual": False},
            {"name": "lo", "pci_slot": None, "numa_node": None, "virtual": True},
            {"name": "wlan0", "pci_slot": "0000:00:14.3", "numa_node": None, "virtual": False},
        ]},
        "rdma": {"devices": []},
        "pcie": {"devices": []},
        "accelerators": {vendor: {"devices": [], "readings": {}} for vendor in _PREFIX},
    }  # fmt: skip


def _node(place: int, count: int, numa: int) -> int:
    return min(place * numa // max(count, 1), numa - 1)


def _slot(place: int, device: int) -> str:
    return f"{place // 8:04x}:{16 * (place % 8 + 1) + 3 + device:02x}:00.0"


def _bridges(place: int, device: int) -> list[str]:
    """Root port, then the upstream and the downstream port of a switch."""
    domain, bus = f"{place // 8:04x}", 16 * (place % 8 + 1)
    return [f"{domain}:{bus:02x}:01.0", f"{domain}:{bus + 1:02x}:00.0", f"{domain}:{bus + 2:02x}:{device:02x}.0"]
