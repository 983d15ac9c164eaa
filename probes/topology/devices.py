"""The accelerators and network cards of a host, each with its place and the names that tools have for it.

A device of the RDMA stack, a network interface and a PCI device are one network card where they share an address.
May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from probes.kernel_text import cpu_list
from probes.topology.given import below, last_number, rows, slot, text, whole, wholes
from probes.topology.pci import Place
from probes.topology.told import VENDORS, Told, Vendor, is_accelerator

Places = Mapping[str, Place]

_NO_CARDS = ("soft", "smi")
"""RDMA devices that software makes up, or that manage another one."""
_NUMBER = re.compile(r"([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Device:
    """`labels`: what the tools of its vendor call it, in lower case. `affinity`: the CPUs near it, as such a tool
    writes them."""

    name: str
    kind: str
    place: Place
    labels: frozenset[str]
    affinity: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


def accelerators(facts: Any, told: Mapping[str, Told], places: Places) -> list[Device]:
    """Those of all vendors, in the order of the record; and those that are known from a matrix alone."""
    found: dict[str, Device] = {}
    for vendor in VENDORS:
        links = told[vendor.name]
        listed = list(rows(below(facts, "accelerators", vendor.name, "devices")))
        known = {label for device in listed for label in _labels(vendor, device)}
        listed += [{"id": last_number(label)} for label in links.matrix if label not in known]
        for device in listed:
            if whole(device.get("id")) is not None:
                made = _accelerator(facts, vendor, links, places, device)
                # Two vendors' devices on one host may have the same number.
                name = made.name if made.name not in found else f"{vendor.name}-{made.name}"
                found.setdefault(name, replace(made, name=name))
    return list(found.values())


def _labels(vendor: Vendor, device: Mapping[str, Any]) -> frozenset[str]:
    """An NPU is named by its physical id, or by its card where that has but one chip to be named."""
    number, card = whole(device.get("id")), whole(device.get("card"))
    by_card = card if card is not None and not whole(device.get("chip")) else number
    return frozenset(
        {f"phy{number}", f"{vendor.prefix}{by_card}"} | ({bus} if (bus := slot(device.get("bus"))) else set())
    )


def _accelerator(facts: Any, vendor: Vendor, links: Told, places: Places, device: Mapping[str, Any]) -> Device:
    labels = _labels(vendor, device)
    affinity = next((cpus for label, cpus in links.affinity.items() if label in labels), None)
    told_node = next((node for label, node in links.numa.items() if label in labels), None)
    nodes = (told_node, whole(device.get("numa_node")), _node_of(facts, affinity))
    node = next((known for known in nodes if known is not None), None)
    attributes = {"vendor": vendor.name, "id": whole(device.get("id")), "model": text(device.get("name"))}
    return Device(
        f"{vendor.prefix}{attributes['id']}", "accelerator", _place(slot(device.get("bus")), node, places), labels,
        affinity, attributes,
    )  # fmt: skip


def _node_of(facts: Any, affinity: str | None) -> int | None:
    """The NUMA node of the first of these CPUs."""
    cpus = cpu_list(affinity)
    for node in rows(below(facts, "numa", "nodes")) if cpus else ():
        if cpus and cpus[0] in (wholes(node.get("cpus")) or ()):
            return whole(node.get("id"))
    return None


def _place(address: str | None, node: int | None, places: Places) -> Place:
    """What the PCI device tells, and for what it does not tell what was known anyway."""
    found = places.get(address, Place(address)) if address else Place()
    return Place(found.slot, found.chain, node if found.numa is None else found.numa)


def cards(facts: Any, told: Mapping[str, Told], places: Places) -> list[Device]:
    """Network cards: those that can do RDMA first, in the order of the numbers in their names."""
    interfaces = [row for row in rows(below(facts, "network", "interfaces")) if text(row.get("name"))]
    able = [row for row in rows(below(facts, "rdma", "devices")) if row.get("virtual") not in _NO_CARDS]
    functions = {
        slot(row.get("id")) for row in rows(below(facts, "pcie", "devices")) if row.get("virtual_function") is True
    }
    found: dict[str, Device] = {}
    taken: set[str] = set()
    for device in _physical(able, functions):
        if name := text(device.get("name")):
            mine = [row["name"] for row in interfaces if _belongs(row, device)]
            taken |= set(mine)
            found.setdefault(name, _card(name, "rdma", device, mine, places))
    for row in _physical([row for row in interfaces if _is_card(row)], functions):
        if row["name"] not in taken:
            found.setdefault(row["name"], _card(row["name"], "nic", row, [row["name"]], places))
    known = {label for card in found.values() for label in card.labels}
    for name in _only_in_matrices(told, known):
        found.setdefault(name, _card(name, "rdma", {}, [], places))
    return sorted(found.values(), key=lambda card: (card.kind != "rdma", _natural(card.name)))


def _physical(cards: list[Mapping[str, Any]], functions: set[str | None]) -> list[Mapping[str, Any]]:
    """Without virtual functions, which are the same cards again; but a container may have been given nothing else."""
    return [row for row in cards if slot(row.get("pci_slot")) not in functions - {None}] or cards


def _belongs(interface: Mapping[str, Any], device: Mapping[str, Any]) -> bool:
    """By the PCI address, and by the names that the ports of an RDMA device tell, which may be that of a bond."""
    address = slot(interface.get("pci_slot"))
    ports = {name for port in rows(device.get("ports")) if (name := text(port.get("netdev")))}
    names = {text(interface["name"]), text(interface.get("master"))}
    return not ports.isdisjoint(names) or (address is not None and address == slot(device.get("pci_slot")))


def _is_card(interface: Mapping[str, Any]) -> bool:
    """Bridges, tunnels and the like have no device behind them."""
    return slot(interface.get("pci_slot")) is not None or interface.get("virtual") is False


def _card(name: str, kind: str, row: Mapping[str, Any], interfaces: list[Any], places: Places) -> Device:
    names = [str(other).strip() for other in interfaces]
    place = _place(slot(row.get("pci_slot")), whole(row.get("numa_node")), places)
    labels = frozenset(label.lower() for label in (name, *names))
    return Device(name, kind, place, labels, None, {"interfaces": names})


def _only_in_matrices(told: Mapping[str, Told], known: set[str]) -> Iterator[str]:
    """Cards that only a matrix names."""
    for links in told.values():
        for label in (column for row in links.matrix.values() for column in row):
            if not is_accelerator(label) and slot(label) is None and label not in known:
                yield label


def _natural(name: str) -> list[tuple[int, str]]:
    """mlx5_2 before mlx5_10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(name)]
