"""What is known of a network interface, and the small texts it is made of. Pure. May import: probes."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.kernel_text import count
from probes.reading import Reading

_NO_SPEED = (1 << 31) - 1
"""-1 as drivers write it, or from here on as an unsigned number."""
_PARAVIRTUAL = frozenset({"hv_netvsc", "vif", "virtio_net", "vmxnet3"})
"""Drivers of what a hypervisor makes up: their speed is a word of its configuration, or the machine's own card."""


@dataclass(frozen=True, slots=True)
class Interface:
    """`virtual`: no device stands behind it. `addresses` as "10.0.0.5/24". A NUMA node of -1 is unknown: None.
    `up`: somebody has set it up, with or without a link; `carrier`: it has one. `master`: the bond or bridge that it is
    a part of. `counters` only grow; `readings` are what `ethtool` says."""

    name: str
    state: str | None = None
    speed_bytes_per_second: int | None = None
    duplex: str | None = None
    mtu: int | None = None
    driver: str | None = None
    pci_slot: str | None = None
    numa_node: int | None = None
    virtual: bool | None = None
    loopback: bool | None = None
    addresses: tuple[str, ...] | None = None
    up: bool | None = None
    carrier: bool | None = None
    master: str | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    readings: Mapping[str, Reading] = field(default_factory=dict)


def parse_speed(text: str | None) -> int | None:
    """Megabits per second, as the kernel writes them, in bytes per second; None where the driver does not tell."""
    megabits = count(text)
    return megabits * 125_000 if megabits is not None and 0 < megabits < _NO_SPEED else None


def link_rate(speed: int | None, driver: str | None, virtual: bool | None) -> int | None:
    """The speed of an interface as the rate of a wire, where it is one: a device is behind it that has a wire. A veth
    says 10 Gb/s whatever it carries, and a bridge or a bond what somebody makes of others' speeds."""
    return speed if virtual is False and driver not in _PARAVIRTUAL else None


def pci_slot(place: str | None) -> str | None:
    """The innermost PCI address of a sysfs path."""
    slots = re.findall(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", place or "")
    return slots[-1] if slots else None


def address(text: str, netmask: str | None) -> str | None:
    """`10.0.0.5` and `255.255.255.0` as `10.0.0.5/24`; None for link-local ones and what is no IP address."""
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
        width = int(ipaddress.ip_address(netmask)).bit_count() if netmask else None
    except ValueError:
        return None
    if found.version == 6 and found.is_link_local:
        return None
    return str(found) if width is None else f"{found}/{width}"
