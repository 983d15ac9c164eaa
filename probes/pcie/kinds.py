"""Which PCI devices are of interest, by their class and vendor. Pure. May import: the standard library."""

from __future__ import annotations

from collections.abc import Mapping

ACCELERATOR, NETWORK, BRIDGE, OTHER = "accelerator", "network", "bridge", "other"
"""The last one is a device of which nobody recorded what it is, but how wide its link is."""

_ACCELERATOR_VENDORS = frozenset({"10de", "1002", "19e5"})
_DISPLAY = ("0300", "0302", "0380", "1200")
_NETWORK = ("0200", "0207")
_PCI_BRIDGE = "0604"

_VENDOR_WORDS: Mapping[str, str] = {
    "Mellanox": "15b3", "NVIDIA": "10de", "Advanced Micro Devices": "1002", "Huawei": "19e5", "Broadcom": "14e4",
    "Intel": "8086",
}  # fmt: skip
"""A vendor's name in pci.ids -> its number, the first that is found: Mellanox' cards may also say NVIDIA."""
_TITLES: Mapping[str, str] = {
    "vga compatible controller": "0300", "3d controller": "0302", "display controller": "0380",
    "processing accelerators": "1200", "ethernet controller": "0200", "infiniband controller": "0207",
    "pci bridge": _PCI_BRIDGE,
}  # fmt: skip


def kind(class_code: str, vendor: str | None) -> str | None:
    """By four or six hexadecimal digits of the class; None for what is of no interest, as a display of a board's own
    management controller is."""
    if class_code.startswith(_DISPLAY):
        return ACCELERATOR if vendor in _ACCELERATOR_VENDORS else None
    if class_code.startswith(_NETWORK):
        return NETWORK
    return BRIDGE if class_code.startswith(_PCI_BRIDGE) else None


def vendor_of_text(name: str) -> str | None:
    return next((number for word, number in _VENDOR_WORDS.items() if word.lower() in name.lower()), None)


def kind_of_text(title: str, name: str) -> str | None:
    """By what `lspci` calls the class, and the device's name."""
    return kind(_TITLES.get(title.strip().lower(), ""), vendor_of_text(name))
