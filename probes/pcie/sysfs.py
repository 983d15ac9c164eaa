"""/sys/bus/pci/devices: what every user may read of PCI devices. May import: probes."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from probes.host import Host
from probes.kernel_text import count, word
from probes.pcie.kinds import BRIDGE, OTHER, kind
from probes.tool_text import number

DEVICES = "/sys/bus/pci/devices"
_SLOT = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_UNKNOWN_WIDTH = 255


@dataclass(frozen=True, slots=True)
class Entry:
    """A device as sysfs has it; the fields are those of PcieDevice."""

    id: str
    kind: str
    class_code: str | None
    vendor: str | None
    device: str | None
    width: int | None
    width_max: int | None
    speed: float | None
    speed_max: float | None
    numa_node: int | None
    upstream: tuple[str, ...]
    driver: str | None
    virtual_function: bool


def devices(host: Host) -> tuple[Entry, ...] | None:
    """Accelerators, network cards and the bridges above any of them; None where there is no sysfs, or where nobody
    recorded of any device what it is."""
    names = host.listdir(DEVICES)
    if names is None:
        return None
    found = [entry for name in names if _SLOT.fullmatch(name) and (entry := _entry(host, name))]
    if names and not found and all(host.read(f"{DEVICES}/{name}/class") is None for name in names):
        return None
    above = {bridge for entry in found if entry.kind != BRIDGE for bridge in entry.upstream}
    return tuple(entry for entry in found if entry.kind != BRIDGE or entry.id in above)


def parse_width(text: str | None) -> int | None:
    """Lanes; 0 is a link that is down or that a hypervisor made up, 255 is how the kernel writes "unknown"."""
    lanes = count(text)
    return lanes if lanes is not None and 0 < lanes < _UNKNOWN_WIDTH else None


def parse_speed(text: str | None) -> float | None:
    """GT/s of `32.0 GT/s PCIe`; None for "Unknown"."""
    return number(text or "") or None


def _entry(host: Host, slot: str) -> Entry | None:
    folder = f"{DEVICES}/{slot}"
    class_code, vendor = _hexadecimal(host.read(f"{folder}/class")), _hexadecimal(host.read(f"{folder}/vendor"))
    most = parse_width(host.read(f"{folder}/max_link_width"))
    found = kind(class_code, vendor) if class_code else OTHER if most else None
    if found is None:
        return None
    place = _SLOT.findall(host.link(folder) or "")
    return Entry(
        id=slot,
        kind=found,
        class_code=class_code,
        vendor=vendor,
        device=_hexadecimal(host.read(f"{folder}/device")),
        width=parse_width(host.read(f"{folder}/current_link_width")),
        width_max=most,
        speed=parse_speed(host.read(f"{folder}/current_link_speed")),
        speed_max=parse_speed(host.read(f"{folder}/max_link_speed")),
        numa_node=count(host.read(f"{folder}/numa_node")),
        upstream=tuple(place[:-1]),
        driver=posixpath.basename(host.link(f"{folder}/driver") or "") or None,
        virtual_function=host.exists(f"{folder}/physfn"),
    )


def _hexadecimal(text: str | None) -> str | None:
    """`0x10de` as `10de`."""
    return (word(text) or "").lower().removeprefix("0x") or None
