"""Network interfaces: state, speed, MTU, driver, place in the machine and IP addresses; bonds; the name of the host.

Sources: /sys/class/net, addresses from the system, and `ethtool` for what sysfs does not tell. A host that was recorded
without sysfs may have `ip -j link` or `ethtool` alone. Hardware addresses, and the link-local ones that are made of
them, identify a machine and are left out. May import: probes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from probes.host import Host
from probes.network import ethtool, iproute, naming, sysfs
from probes.network.bonding import Bond, bonds
from probes.network.interface import Interface, address, link_rate, parse_speed, pci_slot
from probes.visit import Visit

__all__ = ("Bond", "Interface", "NetworkFacts", "address", "link_rate", "parse_speed", "pci_slot", "read")


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """`source`: where the interfaces are from. `host_addresses`: what the host's own name leads to, by `name_source`;
    () is nothing at all, and None unknown."""

    interfaces: tuple[Interface, ...] | None
    source: str | None = None
    bonds: tuple[Bond, ...] = ()
    host_name: str | None = None
    host_addresses: tuple[str, ...] | None = None
    name_source: str | None = None


def read(host: Host) -> NetworkFacts:
    """Tools are only asked on a visit: whoever but looks for addresses gives a plain host."""
    visit = host if isinstance(host, Visit) else None
    found, source = _interfaces(host, visit)
    name, led, by = naming.read(host, visit)
    return NetworkFacts(_with_readings(visit, found) if visit else found, source, bonds(host), name, led, by)


def _interfaces(host: Host, visit: Visit | None) -> tuple[tuple[Interface, ...] | None, str | None]:
    """Where sysfs is missing others may know them."""
    known = host.addresses()
    found = sysfs.interfaces(host, known)
    if found is not None:
        return found, sysfs.INTERFACES
    if visit is not None:
        found, source = iproute.interfaces(visit)
        if found is not None:
            return found, source
    if known is None:
        return None, None
    named = (Interface(name, addresses=sysfs.addresses(entries)) for name, entries in sorted(known.items()))
    return tuple(named), "the system"


def _with_readings(visit: Visit, found: tuple[Interface, ...] | None) -> tuple[Interface, ...] | None:
    """What `ethtool` tells of interfaces behind which there is a device, also of those that only it knows."""
    names = {interface.name for interface in found or ()}
    others = tuple(Interface(name) for name in ethtool.recorded(visit) if name not in names)
    if found is None and not others:
        return None
    return tuple(
        interface if interface.virtual or interface.loopback else _told(interface, visit)
        for interface in (*(found or ()), *others)
    )


def _told(interface: Interface, visit: Visit) -> Interface:
    readings = visit.ask_all(ethtool.TOOL, ethtool.QUERIES, interface=interface.name)
    link = readings["link"].values if "link" in readings else {}
    return replace(
        interface,
        readings=readings,
        carrier=link.get("link") if interface.carrier is None else interface.carrier,
        speed_bytes_per_second=interface.speed_bytes_per_second or link.get("speed_bytes_per_second"),
        duplex=interface.duplex or link.get("duplex"),
        driver=interface.driver or (readings["driver"].values.get("driver") if "driver" in readings else None),
    )
