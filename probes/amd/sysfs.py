"""AMD GPUs as the kernel shows them: their place on PCIe, memory and NUMA node, which needs no tool.

A GPU has a card in /sys/class/drm; what only makes pictures for a server's console has other vendors.
May import: probes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from probes.by_device import pci_address
from probes.host import Host
from probes.kernel_text import count, word
from probes.reading import Reading, Said, told

_CARDS = "/sys/class/drm"
_PCI = "/sys/bus/pci/devices"
_CARD = re.compile(r"card\d{1,4}")
_VENDOR = "0x1002"
_DISPLAYS = ("0x03", "0x12")
"""Classes of PCI devices: display controllers and processing accelerators."""


def cards(host: Host) -> dict[str, Reading]:
    """PCI address -> what its files say, in the order of addresses."""
    found = {}
    for name in host.listdir(_CARDS) or ():
        folder = f"{_CARDS}/{name}/device"
        if _CARD.fullmatch(name) and word(host.read(f"{folder}/vendor")) == _VENDOR:
            bus = pci_address(posixpath.basename(host.link(folder) or "")) or _bus(host.read(f"{folder}/uevent"))
            if bus:
                found[bus] = told(folder, _said(host, folder))
    return dict(sorted(found.items()))


def on_pcie(host: Host) -> tuple[str, ...] | None:
    """The addresses of GPUs that PCIe has, whether or not a driver has taken them; None where it cannot be read."""
    slots = host.listdir(_PCI)
    return None if slots is None else tuple(slot for slot in slots if _is_gpu(host, f"{_PCI}/{slot}"))


def _is_gpu(host: Host, folder: str) -> bool:
    kind = word(host.read(f"{folder}/class")) or ""
    return kind.startswith(_DISPLAYS) and word(host.read(f"{folder}/vendor")) == _VENDOR


def _bus(uevent: str | None) -> str | None:
    match = re.search(r"^PCI_SLOT_NAME=(\S+)$", uevent or "", re.MULTILINE)
    return pci_address(match[1]) if match else None


def _said(host: Host, folder: str) -> Said:
    said = Said()
    for name, file, value in _numbers(host, folder):
        said.value(name, value, f"{file}: {value}")
    for name, file in (("speed", "current_link_speed"), ("speed_max", "max_link_speed")):
        if (text := word(host.read(f"{folder}/{file}"))) and "nknown" not in text:
            (said.moment if name == "speed" else said.value)(name, text, f"{file}: {text}")
    said.value("present", True)
    return said


def _numbers(host: Host, folder: str) -> Iterator[tuple[str, str, int]]:
    for name, file in (
        ("width", "current_link_width"),
        ("width_max", "max_link_width"),
        ("numa", "numa_node"),
        ("memory_bytes", "mem_info_vram_total"),
    ):
        value = count(host.read(f"{folder}/{file}"))
        if value is not None and (value or not name.startswith("width")):
            yield name, file, value
