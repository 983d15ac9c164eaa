"""Network interfaces: state, speed, MTU, driver, place in the machine and IP addresses; bonds; the name of the host.

Sources: /sys/class/net, addresses from the system, and `ethtool` for what sysfs does not tell. A host that was recorded
without sysfs may have `ip -j link` or `ethtool` alone. Hardware addresses, and the link-local ones that are made of
them, identify a machine and are left out. May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from probes.host import Host
from probes.network import ethtool, iproute, naming, sysfs
from probes.network.bonding import Bond, bonds
from probes.network.interface import Interface, address, link_rate, parse_speed, pci_slot
from probes.reading import Reading, State
from probes.visit import Visit

__all__ = ("Bond", "Interface", "NetworkFacts", "address", "link_rate", "parse_speed", "pci_slot", "read")

_SYSTEM = "the system"


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """`source`: where the interfaces are from. `host_addresses`: what the host's own name leads to, by `name_source`;
    () is nothing at all, and None unknown. `readings`: how tools answered that were asked about the whole host."""

    interfaces: tuple[Interface, ...] | None
    source: str | None = None
    bonds: tuple[Bond, ...] = ()
    host_name: str | None = None
    host_addresses: tuple[str, ...] | None = None
    name_source: str | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)


def read(host: Host) -> NetworkFacts:
    """Tools are only asked on a visit: whoever but looks for addresses gives a plain host."""
    visit = host if isinstance(host, Visit) else None
    known = host.addresses()
    found, source = sysfs.interfaces(host, known), str(sysfs.INTERFACES)
    asked: dict[str, Reading] = {}
    if found is None and visit is not None:
        asked["interfaces"] = iproute.ask(visit)
        found, source = iproute.interfaces(asked["interfaces"]), asked["interfaces"].source
    if found is None and known is not None:
        found, source = (
            tuple(Interface(name, addresses=sysfs.addresses(known[name])) for name in sorted(known)),
            _SYSTEM,
        )
    name = naming.read(host, visit)
    if name.reading:
        asked["host_name"] = name.reading
    return NetworkFacts(
        interfaces=_with_readings(visit, found) if visit else found,
        source=None if found is None else source,
        bonds=bonds(host),
        host_name=name.name,
        host_addresses=name.addresses,
        name_source=name.source,
        readings={
            query: replace(reading, values={}, lines={})
            for query, reading in asked.items()
            if reading.state is not State.ABSENT
        },
    )


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
