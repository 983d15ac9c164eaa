"""What nvidia-smi says instead of an answer when the driver or a GPU is broken. Any of its commands may say so.

Pure functions of text. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from probes.by_device import pci_address
from probes.reading import Said
from probes.tool_text import lines

FAULTS = {
    "no_devices": re.compile(r"^\s*No devices were found", re.IGNORECASE),
    "driver_mismatch": re.compile(r"Driver/library version mismatch", re.IGNORECASE),
    "driver_unreachable": re.compile(
        r"couldn't communicate with the NVIDIA driver|NVIDIA driver is not loaded|couldn't find libnvidia-ml"
        r"|Failed to initialize NVML: (?!Insufficient Permissions|Driver/library)",
        re.IGNORECASE,
    ),
}
"""Words of a line -> the value `fault` of the reading."""
_LOST = re.compile(
    r"Unable to determine the device handle|GPU is lost|has fallen off the bus|\bGPU Lost\b", re.IGNORECASE
)
_INDEX = re.compile(r"\bGPU\s?(\d{1,3}):\s", re.IGNORECASE)
_ROW = re.compile(r"\|\s*(\d{1,3})\s[^|]*\|\s*[0-9A-Fa-f]{4,8}:")
"""The first line about a GPU in the table; what it says in the next ones is about the same."""
_INFOROM = re.compile(r"infoROM is corrupted at gpu ", re.IGNORECASE)
_LIBRARY = re.compile(r"NVML library version:\s*([\d.]+)")


def seeing_faults(parse: Callable[[str], Said]) -> Callable[[str], Said]:
    """A parser that also understands these words."""

    def parse_with_faults(text: str) -> Said:
        said = parse(text)
        put_faults(text, said)
        return said

    return parse_with_faults


def put_faults(text: str, said: Said) -> None:
    """`fault` of the whole host; `lost` has GPUs, each with as much of its identity as the line tells, or in the table
    the row; `inforom`: addresses of GPUs whose infoROM is corrupted."""
    lost: list[dict[str, str | int | None]] = []
    first = row = ""
    corrupted: list[str] = []
    for line in lines(text):
        if _ROW.match(line.strip()):
            row = line
        elif not line.strip().startswith("|"):
            row = ""
        if _INFOROM.search(line) and (bus := pci_address(line)):
            corrupted.append(bus)
            said.value("inforom", corrupted, line)
        for fault, pattern in FAULTS.items():
            if pattern.search(line):
                said.value("fault", fault, line)
        if _LOST.search(line):
            index = _ROW.match(row.strip()) or _INDEX.search(line)
            first = first or line
            lost.append(
                {"bus": pci_address(row or line), "index": int(index[1]) if index else None, "line": line.strip()}
            )
        if library := _LIBRARY.search(line):
            said.value("library", library[1], line)
    if lost:
        said.value("lost", lost, first)
