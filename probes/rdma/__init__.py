"""RDMA devices and their ports: sysfs first, then what the tools of the fabric tell beyond it.

Tools are asked where sysfs knows of devices or is not there, so that a host without RDMA starts none of them.
May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from probes.rdma import sysfs, tools, words
from probes.rdma.sighting import Sighting, Sightings
from probes.rdma.sysfs import Gid
from probes.reading import Reading
from probes.visit import Visit

_FUNCTION = re.compile(r"(.+?)(?:f\d{1,3})?(?:np\d{1,3}|d\d{1,3})?")
"""A name that says which function or port of a card it is: ens1f1np1, rocep1s0f1, enp1s0d1."""
_ON_CARD = 2
_OF_A_SLOT = re.compile(r"(?:en|ib|roce|iw)[ops][0-9a-z]+")


@dataclass(frozen=True, slots=True)
class RdmaPort:
    """`state` and `physical_state` in the kernel's words. `rate_bits_per_second` only of an active port: another one
    shows a placeholder, which is `rate_text`, as it is written. `gids`: of RoCE ports. `counters` by the names of their
    files, data in bytes. `lines` and `sources`: value -> the line it stood in, and the file or command."""

    id: int
    state: str | None
    physical_state: str | None
    rate_bits_per_second: int | None
    rate_text: str | None
    link_layer: str | None
    active_mtu: int | None
    lid: int | None
    sm_lid: int | None
    netdev: str | None
    roce_v2_ipv4_index: int | None
    gids: tuple[Gid, ...] | None
    counters: Mapping[str, int]
    lines: Mapping[str, str]
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RdmaDevice:
    """`kind`: the adapter's type, as MT4129. `card`: devices with the same one sit on one card. `virtual`: what it is
    if no adapter of its own: soft (rxe, siw), smi (a sub-device for management), function (of SR-IOV). PCIe widths in
    lanes, speeds as they are written."""

    name: str
    kind: str | None
    board: str | None
    firmware: str | None
    card: str
    pci_slot: str | None
    numa_node: int | None
    pcie_width: int | None
    pcie_width_max: int | None
    pcie_speed: str | None
    pcie_speed_max: str | None
    virtual: str | None
    ports: tuple[RdmaPort, ...]
    lines: Mapping[str, str]
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RdmaFacts:
    """None where nothing could be asked. `user_access`: /dev/infiniband has what programs open. `readings`: how each
    tool answered, and what it says of no device in particular."""

    devices: tuple[RdmaDevice, ...] | None
    user_access: bool | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)


def read(visit: Visit) -> RdmaFacts:
    seen = Sightings()
    known = sysfs.look(visit, seen)
    recorded = visit.recorded() is not None
    readings = tools.look(visit) if recorded or seen.devices() or not known else {}
    for reading in readings.values():
        seen.take(reading)
    _unmask(seen)
    told = known or seen.devices() or any("none" in reading.values for reading in readings.values())
    return RdmaFacts(
        devices=tuple(_device(visit, name, seen) for name in seen.devices()) if told else None,
        user_access=_user_access(visit),
        readings={name: tools.of_host(reading) for name, reading in readings.items()},
    )


def _unmask(seen: Sightings) -> None:
    """A card has one device or two, of which each may have virtual functions: where all of more have the GUID of one
    card somebody has masked it, and it says nothing."""
    carded = [each for each in map(seen.of, seen.devices()) if "card" in each.values]
    if len(carded) > _ON_CARD and len({each.values["card"] for each in carded}) == 1:
        for each in carded:
            del each.values["card"]


def _user_access(visit: Visit) -> bool | None:
    if visit.listdir("/dev") is None:
        return None
    return any(name.startswith("uverbs") for name in visit.listdir("/dev/infiniband") or ())


def _device(visit: Visit, name: str, seen: Sightings) -> RdmaDevice:
    sighting = seen.of(name)
    values = sighting.values
    ports = tuple(_port(visit, name, number, seen.of(f"{name}/{number}")) for number in seen.ports(name))
    return RdmaDevice(
        name=name,
        kind=values.get("kind"),
        board=values.get("board"),
        firmware=values.get("firmware"),
        card=_card(name, values, ports),
        pci_slot=values.get("pci_slot"),
        numa_node=values.get("numa_node"),
        pcie_width=values.get("pcie_width"),
        pcie_width_max=values.get("pcie_width_max"),
        pcie_speed=values.get("pcie_speed"),
        pcie_speed_max=values.get("pcie_speed_max"),
        virtual=_virtual(name, values),
        ports=ports,
        lines=sighting.lines,
        sources=sighting.sources,
    )


def _virtual(name: str, values: Mapping[str, Any]) -> str | None:
    if re.fullmatch(r"smi\d*", name):
        return "smi"
    if re.match(r"(?:rxe|siw)", name):
        return "soft"
    return values.get("virtual")


def _card(name: str, values: Mapping[str, Any], ports: tuple[RdmaPort, ...]) -> str:
    """By the GUID of the card, else its place in the machine, else what the names of network interfaces say of that."""
    if card := values.get("card"):
        return str(card)
    if slot := values.get("pci_slot"):
        return str(slot).partition(".")[0]
    names = [name, *(port.netdev for port in ports if port.netdev)]
    placed = next((each for each in reversed(names) if _OF_A_SLOT.match(each)), None)
    match = _FUNCTION.fullmatch(placed) if placed else None
    return match[1] if match else name


def _port(visit: Visit, device: str, number: int, sighting: Sighting) -> RdmaPort:
    values = sighting.values
    gids = sysfs.gids(visit, device, number) if values.get("link_layer") == "Ethernet" else None
    active = values.get("state") == words.ACTIVE
    return RdmaPort(
        id=number,
        state=values.get("state"),
        physical_state=values.get("physical_state"),
        rate_bits_per_second=words.rate(values.get("rate_text", "")) if active else None,
        rate_text=values.get("rate_text"),
        link_layer=values.get("link_layer"),
        active_mtu=values.get("active_mtu"),
        lid=values.get("lid"),
        sm_lid=values.get("sm_lid"),
        netdev=values.get("netdev"),
        roce_v2_ipv4_index=next(
            (gid.index for gid in gids or () if gid.type == "RoCE v2" and gid.family == "ipv4"), None
        ),
        gids=gids,
        counters=sighting.counters,
        lines=sighting.lines,
        sources=sighting.sources,
    )
