"""The section `network` as text: network interfaces. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs
from opsdist_cli.output.sections.words import or_unknown
from opsdist_cli.units import bits_per_second

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    interfaces = facts["interfaces"]
    if interfaces is None:
        return pairs([("interfaces", "unknown")])
    return pairs([(interface["name"], _interface(interface)) for interface in interfaces] or [("interfaces", "none")])


def _interface(facts: Facts) -> str:
    duplex = f" {facts['duplex']} duplex" if facts["duplex"] else ""
    words = [
        f"state {or_unknown(facts['state'])}",
        "loopback" if facts["loopback"] else f"speed {_speed(facts)}{duplex}",
        f"MTU {or_unknown(facts['mtu'])}",
    ]
    if not facts["virtual"]:
        words += [
            f"driver {or_unknown(facts['driver'])}",
            f"PCI {or_unknown(facts['pci_slot'])}",
            f"NUMA node {or_unknown(facts['numa_node'])}",
        ]
    addresses = facts["addresses"]
    words.append("addresses unknown" if addresses is None else " ".join(addresses) or "no address")
    return ", ".join(words)


def _speed(facts: Facts) -> str:
    speed = facts["speed_bytes_per_second"]
    if speed is not None:
        return bits_per_second(speed)
    if facts["virtual"]:
        return or_unknown(None, "virtual interface")
    if facts["state"] == "down":
        return or_unknown(None, "the link is down")
    return or_unknown(None, f"driver {facts['driver']} does not tell" if facts["driver"] else None)
