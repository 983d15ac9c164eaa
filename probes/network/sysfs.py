"""/sys/class/net: what the kernel tells of interfaces. May import: probes."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from probes.host import Host
from probes.kernel_text import count, word
from probes.network.interface import Interface, address, parse_speed, pci_slot

INTERFACES = "/sys/class/net"
_LOOPBACK_TYPE = 772
_SET_UP = 1
"""IFF_UP among an interface's flags."""
_COUNTERS = (
    "rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped",
    "rx_crc_errors", "rx_frame_errors", "rx_fifo_errors", "rx_missed_errors", "rx_over_errors", "tx_carrier_errors",
    "tx_fifo_errors",
)  # fmt: skip
"""Of /sys/class/net/*/statistics."""

Entries = Sequence[tuple[str, str | None]]


def interfaces(host: Host, known: Mapping[str, Entries] | None) -> tuple[Interface, ...] | None:
    """`known`: the addresses of each, where the system tells them."""
    names = host.listdir(INTERFACES)
    if names is None:
        return None
    return tuple(
        _interface(host, name, None if known is None else known.get(name, ()))
        for name in names
        if name != "bonding_masters"  # a control file beside the interfaces
    )


def addresses(entries: Entries) -> tuple[str, ...]:
    return tuple(filter(None, (address(*entry) for entry in entries)))


def _interface(host: Host, name: str, known: Entries | None) -> Interface:
    folder = f"{INTERFACES}/{name}"
    place = host.link(folder)
    kind = count(host.read(f"{folder}/type"))
    slot = pci_slot(place)
    return Interface(
        name=name,
        state=word(host.read(f"{folder}/operstate")),
        speed_bytes_per_second=parse_speed(host.read(f"{folder}/speed")),
        duplex=_unless_unknown(word(host.read(f"{folder}/duplex"))),
        mtu=count(host.read(f"{folder}/mtu")),
        driver=_last(host.link(f"{folder}/device/driver")),
        pci_slot=slot,
        numa_node=_numa_node(host, folder, slot),
        virtual=None if place is None else "/virtual/" in place,
        loopback=None if kind is None else kind == _LOOPBACK_TYPE,
        addresses=None if known is None else addresses(known),
        up=parse_set_up(host.read(f"{folder}/flags")),
        carrier={"0": False, "1": True}.get(word(host.read(f"{folder}/carrier")) or ""),
        master=_last(host.link(f"{folder}/master")),
        counters=_counters(host, folder),
    )


def parse_set_up(text: str | None) -> bool | None:
    """From flags such as `0x1003`."""
    try:
        return bool(int(text or "", 16) & _SET_UP)
    except ValueError:
        return None


def _counters(host: Host, folder: str) -> dict[str, int]:
    files = {"carrier_changes": f"{folder}/carrier_changes"}
    files |= {name: f"{folder}/statistics/{name}" for name in _COUNTERS}
    return {name: value for name, path in files.items() if (value := count(host.read(path))) is not None}


def _last(target: str | None) -> str | None:
    return posixpath.basename(target or "") or None


def _unless_unknown(text: str | None) -> str | None:
    return None if text == "unknown" else text


def _numa_node(host: Host, folder: str, slot: str | None) -> int | None:
    """A virtio interface has its node at the PCI device above it."""
    return count(host.read(f"/sys/bus/pci/devices/{slot}/numa_node" if slot else f"{folder}/device/numa_node"))
