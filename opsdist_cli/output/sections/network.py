"""The section `network` as text: network interfaces. May import: from this package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opsdist_cli.output.layout import pairs
from opsdist_cli.output.sections.words import or_unknown
from opsdist_cli.units import bits_per_second

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    interfaces = facts["interfaces"]
    if interfaces is None:
        return pairs([("interfaces", "unknown"), *_others(facts)])
    rows = [(interface["name"], _interface(interface)) for interface in interfaces]
    return pairs([*(rows or [("interfaces", "none")]), *_others(facts)])


def _others(facts: Facts) -> Iterator[tuple[str, str]]:
    """Bonds, and where the host's own name leads to, as far as they are known."""
    for bond in facts.get("bonds") or ():
        members = ", ".join(f"{member['name']} {or_unknown(member['state'])}" for member in bond["members"])
        yield f"bond {bond['name']}", f"{or_unknown(bond['mode'])}: {members or 'no members'}"
    if facts.get("host_addresses") is not None:
        where = " ".join(facts["host_addresses"]) or "nothing"
        yield "own name", f"{facts['host_name']} leads to {where} (by {facts['name_source']})"


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
    words += _told(facts)
    addresses = facts["addresses"]
    words.append("addresses unknown" if addresses is None else " ".join(addresses) or "no address")
    return ", ".join(words)


def _told(facts: Facts) -> list[str]:
    """What `ethtool` says beside all this, and of which bond or bridge it is a part."""
    readings = facts.get("readings") or {}
    values = {name: reading["values"] for name, reading in readings.items()}
    words = [f"part of {facts['master']}"] if facts.get("master") else []
    if reason := values.get("link", {}).get("reason"):
        words.append(f"no link ({reason})")
    elif facts.get("carrier") is False:
        words.append("no link")
    if firmware := values.get("driver", {}).get("firmware"):
        words.append(f"firmware {firmware}")
    if fec := values.get("fec", {}).get("active"):
        words.append(f"FEC {fec}")
    return words


def _speed(facts: Facts) -> str:
    speed = facts["speed_bytes_per_second"]
    if speed is not None:
        return bits_per_second(speed)
    if facts["virtual"]:
        return or_unknown(None, "virtual interface")
    if facts["state"] == "down":
        return or_unknown(None, "the link is down")
    return or_unknown(None, f"driver {facts['driver']} does not tell" if facts["driver"] else None)
