"""RDMA devices as the kernel shows them in /sys/class/infiniband, which needs no tool and is there in containers.

Files are read one by one: reading a GID slot that is empty fails, and so do counters that a function may not see. Each
is read once, since a function without the right makes the driver log every attempt (mlx5_cmd_out_err).
GIDs and GUIDs identify a machine and are not kept. May import: probes.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass

from probes.host import Host
from probes.kernel_text import count, word
from probes.network import pci_slot
from probes.rdma import words
from probes.rdma.sighting import Sighting, Sightings

FOLDER = "/sys/class/infiniband"
_PCI = "/sys/bus/pci/devices"
_WORD_BYTES = 4
"""port_rcv_data and port_xmit_data count words of four octets (InfiniBand specification, PortCounters)."""
_NO_COUNTERS = frozenset({"lifespan"})
"""A setting that lies beside the counters."""
_ROCE_OVERHEAD = 96
"""What the kernel takes from an interface's MTU before it chooses the port's (iboe_get_mtu in ib_addr.h)."""
_MTUS = (4096, 2048, 1024, 512, 256)


@dataclass(frozen=True, slots=True)
class Gid:
    """A slot of the GID table. `family`: ipv4, ipv6, or link-local where it is made of the hardware address."""

    index: int
    type: str | None
    family: str


def look(host: Host, seen: Sightings) -> bool:
    """Adds what sysfs tells; whether it tells which devices there are."""
    names = host.listdir(FOLDER)
    cards: dict[str, str] = {}
    for name in sorted(names or (), key=words.natural):
        if re.fullmatch(words.NAME, name):
            _device(host, name, seen, cards)
    return names is not None


def gids(host: Host, device: str, port: int) -> tuple[Gid, ...] | None:
    """The slots that are in use; None where they cannot be read."""
    folder = f"{FOLDER}/{device}/ports/{port}"
    slots = host.listdir(f"{folder}/gids")
    if slots is None:
        return None
    indices = sorted(int(slot) for slot in slots if slot.isascii() and slot.isdigit() and len(slot) < 6)
    found = ((index, _family(host.read(f"{folder}/gids/{index}"))) for index in indices)
    return tuple(
        Gid(index, word(host.read(f"{folder}/gid_attrs/types/{index}")), family) for index, family in found if family
    )


def _device(host: Host, name: str, seen: Sightings, cards: dict[str, str]) -> None:
    folder = f"{FOLDER}/{name}"
    sighting = seen.of(name)
    place = host.link(folder)
    slot = pci_slot(place) or _slot_above(host, name)
    base = f"{_PCI}/{slot}" if slot else f"{folder}/device"
    _put(host, sighting, "firmware", f"{folder}/fw_ver", name_of_something)
    _put(host, sighting, "board", f"{folder}/board_id", name_of_something)
    _put(host, sighting, "kind", f"{folder}/hca_type", name_of_something)
    _put(host, sighting, "numa_node", f"{base}/numa_node", count)
    for field in ("width", "speed"):
        parse = _width if field == "width" else _speed
        _put(host, sighting, f"pcie_{field}", f"{base}/current_link_{field}", parse)
        _put(host, sighting, f"pcie_{field}_max", f"{base}/max_link_{field}", parse)
    sighting.put("pci_slot", slot, "", folder)
    sighting.put("virtual", _virtual(host, place, base), "", folder)
    guid = words.guid(host.read(f"{folder}/sys_image_guid") or "")
    if guid:
        sighting.put("card", cards.setdefault(guid, name), "", folder)
    for port in host.listdir(f"{folder}/ports") or ():
        if port.isascii() and port.isdigit() and len(port) < 4:
            _port(host, f"{folder}/ports/{port}", base, seen.of(f"{name}/{int(port)}"))


def name_of_something(text: str) -> str | None:
    """A version or a type; what holds no digit is a placeholder."""
    found = word(text)
    return found if found and any(letter.isdigit() for letter in found) else None


def _port(host: Host, folder: str, base: str, sighting: Sighting) -> None:
    _put(host, sighting, "state", f"{folder}/state", words.state)
    _put(host, sighting, "physical_state", f"{folder}/phys_state", words.physical_state)
    _put(host, sighting, "rate_text", f"{folder}/rate", word)
    _put(host, sighting, "link_layer", f"{folder}/link_layer", words.link_layer)
    _put(host, sighting, "lid", f"{folder}/lid", words.local_id)
    _put(host, sighting, "sm_lid", f"{folder}/sm_lid", words.local_id)
    _put(host, sighting, "netdev", f"{folder}/gid_attrs/ndevs/0", word)
    interfaces = host.listdir(f"{base}/net") or ()
    if len(interfaces) == 1:
        sighting.put("netdev", interfaces[0], "", f"{base}/net")
    if sighting.values.get("link_layer") == "Ethernet" and "netdev" in sighting.values:
        _put(host, sighting, "active_mtu", f"/sys/class/net/{sighting.values['netdev']}/mtu", roce_mtu)
    sighting.counters.update(_counters(host, folder))


def roce_mtu(text: str) -> int | None:
    """The MTU that a RoCE port has on an interface with this one."""
    payload = (count(text) or 0) - _ROCE_OVERHEAD
    return next((mtu for mtu in _MTUS if mtu <= payload), None)


def _counters(host: Host, folder: str) -> Iterator[tuple[str, int]]:
    for kind in ("counters", "hw_counters"):
        for name in host.listdir(f"{folder}/{kind}") or ():
            value = None if name in _NO_COUNTERS else count(host.read(f"{folder}/{kind}/{name}"))
            if value is not None:
                yield name, value * _WORD_BYTES if name in ("port_rcv_data", "port_xmit_data") else value


def _put(host: Host, sighting: Sighting, name: str, path: str, parse: words.Parser) -> None:
    text = host.read(path)
    if text is not None:
        sighting.put(name, parse(text), text, path)


def _slot_above(host: Host, name: str) -> str | None:
    """Where a recorded tree has no links."""
    slots = host.listdir(_PCI) or ()
    return next((slot for slot in slots if host.exists(f"{_PCI}/{slot}/infiniband/{name}")), None)


def _virtual(host: Host, place: str | None, base: str) -> str | None:
    if place and "/virtual/" in place:
        return "soft"
    return "function" if host.exists(f"{base}/physfn") else None


def _width(text: str) -> int | None:
    """Lanes; 0 and 255 are what a function without a link of its own says."""
    found = count(text)
    return found if found and found < 0xFF else None


def _speed(text: str) -> str | None:
    found = word(text)
    return None if found is None or "unknown" in found.lower() else found


def _family(text: str | None) -> str | None:
    try:
        address = ipaddress.IPv6Address((text or "").strip())
    except ValueError:
        return None
    if not int(address) or (address.is_link_local and not int(address) & (1 << 64) - 1):
        return None
    return "ipv4" if address.ipv4_mapped else "link-local" if address.is_link_local else "ipv6"
