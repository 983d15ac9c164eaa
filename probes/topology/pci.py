"""How two devices reach each other over PCIe, as far as their places tell: in the words of `nvidia-smi topo -m`.

    root port - switch [upstream port - downstream ports] - devices

A chain has the bridges above a device, outermost first: root port, then two ports a switch. May import: given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from probes.topology.given import below, rows, slot, whole

_BRIDGES_BEFORE_A_SWITCH = 1
_PORTS_OF_A_SWITCH = 2


@dataclass(frozen=True, slots=True)
class Place:
    """Where a device is. `chain` is None where the bridges above it are not known."""

    slot: str | None = None
    chain: tuple[str, ...] | None = None
    numa: int | None = None

    @property
    def switches(self) -> tuple[str, ...]:
        """The upstream ports of the PCIe switches above the device, outermost first."""
        return (self.chain or ())[_BRIDGES_BEFORE_A_SWITCH:-1:_PORTS_OF_A_SWITCH]

    @property
    def _host_bridge(self) -> str | None:
        """The root bus: the domain and bus of the outermost bridge, or of a device without one."""
        outermost = self.chain[0] if self.chain else self.slot
        return outermost.rpartition(":")[0] if outermost else None

    def kind_to(self, other: Place) -> tuple[str, str] | None:
        """(kind, source) of the path; None where the places do not tell it."""
        if self.slot and other.slot and self.slot.partition(".")[0] == other.slot.partition(".")[0]:
            return "PIX", "pci"
        if self.chain is not None and other.chain is not None:
            if shared := sum(1 for _ in takewhile(_alike, zip(self.chain, other.chain, strict=False))):
                longest = max(len(self.chain), len(other.chain)) - shared
                return "PIX" if longest <= 1 else "PXB", "pci"
            if self._host_bridge == other._host_bridge:
                return "PHB", "pci"
        if self.numa is None or other.numa is None:
            return None
        known = self.chain is not None and other.chain is not None
        return "NODE" if self.numa == other.numa else "SYS", "pci" if known else "numa"


def _alike(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def places(facts: Any) -> Mapping[str, Place]:
    """Where each PCI device is that the facts tell of, by its address."""
    return dict(_places(facts))


def _places(facts: Any) -> Iterator[tuple[str, Place]]:
    for device in rows(below(facts, "pcie", "devices")):
        if address := slot(device.get("id")):
            yield address, Place(address, _chain(device.get("upstream")), whole(device.get("numa_node")))


def _chain(upstream: Any) -> tuple[str, ...] | None:
    if not isinstance(upstream, list | tuple):
        return None
    return tuple(address for bridge in upstream if (address := slot(bridge)))
