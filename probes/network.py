"""Network interfaces: state, speed, MTU, driver, place in the machine and IP addresses.

Source: /sys/class/net; addresses from the system. Hardware addresses, and the link-local ones that are made of them,
identify a machine and are left out. May import: probes.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from dataclasses import dataclass

from probes.host import Host
from probes.kernel_text import count, word

_INTERFACES = "/sys/class/net"
_LOOPBACK_TYPE = 772
_NO_SPEED = (1 << 31) - 1
"""-1 as drivers write it, or from here on as an unsigned number."""
_PARAVIRTUAL = frozenset({"hv_netvsc", "vif", "virtio_net", "vmxnet3"})
"""Drivers of what a hypervisor makes up: their speed is a word of its configuration, or the machine's own card."""


@dataclass(frozen=True, slots=True)
class Interface:
    """`virtual`: no device stands behind it. `addresses` as "10.0.0.5/24". A NUMA node of -1 is unknown: None."""

    name: str
    state: str | None
    speed_bytes_per_second: int | None
    duplex: str | None
    mtu: int | None
    driver: str | None
    pci_slot: str | None
    numa_node: int | None
    virtual: bool | None
    loopback: bool | None
    addresses: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    interfaces: tuple[Interface, ...] | None


def read(host: Host) -> NetworkFacts:
    known = host.addresses()
    names = host.listdir(_INTERFACES)
    if names is None:
        names = None if known is None else tuple(sorted(known))
    if names is None:
        return NetworkFacts(None)
    return NetworkFacts(
        tuple(
            _interface(host, name, None if known is None else known.get(name, ()))
            for name in names
            if name != "bonding_masters"  # a control file beside the interfaces
        )
    )


def _interface(host: Host, name: str, known: tuple[tuple[str, str | None], ...] | None) -> Interface:
    folder = f"{_INTERFACES}/{name}"
    place = host.link(folder)
    driver = host.link(f"{folder}/device/driver")
    kind = count(host.read(f"{folder}/type"))
    slot = pci_slot(place)
    return Interface(
        name=name,
        state=word(host.read(f"{folder}/operstate")),
        speed_bytes_per_second=parse_speed(host.read(f"{folder}/speed")),
        duplex=_unless_unknown(word(host.read(f"{folder}/duplex"))),
        mtu=count(host.read(f"{folder}/mtu")),
        driver=posixpath.basename(driver or "") or None,
        pci_slot=slot,
        numa_node=_numa_node(host, folder, slot),
        virtual=None if place is None else "/virtual/" in place,
        loopback=None if kind is None else kind == _LOOPBACK_TYPE,
        addresses=None if known is None else tuple(filter(None, (address(*entry) for entry in known))),
    )


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


def _unless_unknown(text: str | None) -> str | None:
    return None if text == "unknown" else text


def _numa_node(host: Host, folder: str, slot: str | None) -> int | None:
    """A virtio interface has its node at the PCI device above it."""
    return count(host.read(f"/sys/bus/pci/devices/{slot}/numa_node" if slot else f"{folder}/device/numa_node"))
