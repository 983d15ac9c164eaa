"""What the vendors' tools tell of links: `npu-smi info -t topo`, `nvidia-smi topo -m`, `amd-smi topology` and the like.

Labels are brought into one form: an accelerator is its prefix and number (npu3, phy3, gpu3), a network card its name.
May import: probes.topology.given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from probes.topology.given import below, mapping, rows, text, whole


@dataclass(frozen=True, slots=True)
class Vendor:
    """`prefix`: how a device is called, before its number."""

    name: str
    prefix: str


VENDORS = (Vendor("ascend", "npu"), Vendor("nvidia", "gpu"), Vendor("amd", "gpu"))

READING = "topology"
_NO_LINK = frozenset({"", "X", "SELF", "NA", "N/A", "-", "0"})
"""Cells of a device with itself, and those in which the tool does not say."""
_CHIP = re.compile(r"(?:npu|phy|gpu)[0-9]{1,6}")
_CARD_WITHOUT_NAME = re.compile(r"nic[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Told:
    """By label: link words of a row, the CPUs near an accelerator as they are written, its NUMA node."""

    matrix: dict[str, dict[str, str]] = field(default_factory=dict)
    affinity: dict[str, str] = field(default_factory=dict)
    numa: dict[str, int] = field(default_factory=dict)


def matrix_of(facts: Any, vendor: str) -> dict[str, dict[str, str]]:
    """Of each label, the words of the links to others."""
    return next((told(facts, each).matrix for each in VENDORS if each.name == vendor), {})


def is_accelerator(label: str) -> bool:
    return _CHIP.fullmatch(label) is not None


def told(facts: Any, vendor: Vendor) -> Told:
    """A tool's answer is kept as one matrix for the host, or as a row for each device."""
    found = Told()
    values = mapping(below(facts, "accelerators", vendor.name, "readings", READING, "values"))
    for label, row in {**values, **mapping(values.get("matrix"))}.items():
        if is_accelerator(plain := _label(vendor, label)):
            near, node = (mapping(values.get(name)).get(label) for name in ("affinity", "numa"))
            _put(found, vendor, plain, row, near, node)
    for device in rows(below(facts, "accelerators", vendor.name, "devices")):
        own = mapping(below(device, "readings", READING, "values"))
        label = f"{vendor.prefix}{whole(device.get('id'))}"
        row = {**mapping(own.get("links")), **mapping(own.get("cards"))}
        _put(found, vendor, label, row, own.get("cpus"), own.get("numa"))
    return found


def _put(found: Told, vendor: Vendor, label: str, row: Any, affinity: Any, numa: Any) -> None:
    if cells := dict(_words(vendor, row)):
        found.matrix.setdefault(label, {}).update(cells)
    if cpus := text(affinity):
        found.affinity[label] = cpus
    if (node := whole(numa)) is not None:
        found.numa[label] = node


def _words(vendor: Vendor, row: Any) -> Iterator[tuple[str, str]]:
    """A cell is a word, or an object that has it beside weight and hops. A card that is only a number is not known."""
    for label, cell in mapping(row).items():
        word = (text(cell.get("link") if isinstance(cell, Mapping) else cell) or "").upper()
        plain = _label(vendor, label)
        if plain and word not in _NO_LINK and not _CARD_WITHOUT_NAME.fullmatch(plain):
            yield plain, word


def _label(vendor: Vendor, label: str) -> str:
    """`3` and `GPU3` are gpu3."""
    plain = label.strip().lower()
    return f"{vendor.prefix}{plain}" if plain.isdecimal() else plain
