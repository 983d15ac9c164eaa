"""Cells of nvidia-smi, as values: several of its outputs tell the same in the same words.

Names of values are the same whatever output they come from. Pure functions of text. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from probes.by_device import about, pci_address
from probes.reading import Said
from probes.tool_text import number, whole

REASONS: Mapping[str, int] = {
    "idle": 0x1, "application_clocks": 0x2, "software_power_cap": 0x4, "hardware_slowdown": 0x8, "sync_boost": 0x10,
    "software_thermal": 0x20, "hardware_thermal": 0x40, "hardware_power_brake": 0x80, "display_clocks": 0x100,
}  # fmt: skip
"""Why clocks are lower than they could be: the bits nvmlClocksEventReason* of nvml.h."""

_NOTHING = re.compile(r"\[?(?:N/A|Not Supported|Not Available|Not Found|None|Unknown|-)?\]?", re.IGNORECASE)
_BROKEN = re.compile(r"\[?(Unknown Error|GPU is lost|ERR!|Insufficient Resources)\]?", re.IGNORECASE)
_RESET = re.compile(r"\[?GPU requires reset\]?", re.IGNORECASE)


_SETTINGS = {
    **dict.fromkeys(("yes", "enabled", "true", "1"), True), **dict.fromkeys(("no", "disabled", "false", "0"), False),
}  # fmt: skip


def text_of(cell: str) -> str | None:
    """A cell that holds anything."""
    return None if _NOTHING.fullmatch(cell.strip()) else cell.strip()


def yes_or_no(cell: str) -> bool | None:
    return _SETTINGS.get(cell.lower())


def reasons(cell: str) -> list[str] | None:
    """Of a bit mask in hexadecimal digits."""
    if not re.fullmatch(r"0x[0-9A-Fa-f]{1,16}", cell.strip()):
        return None
    mask = int(cell.strip(), 16)
    return [name for name, bit in REASONS.items() if mask & bit]


def measured(cell: str) -> float | None:
    """What a sensor could say; digits without end are none of it."""
    value = number(cell)
    return value if value is not None and abs(value) < 1e6 else None


@dataclass(frozen=True, slots=True)
class Word:
    """`kind`: how a value is kept, a method of `Said`; see there. `read`: a cell -> a value, None where it has none."""

    name: str
    read: Callable[[str], Any] = text_of
    kind: Callable[[Said, str, Any, str], None] = Said.value


def put(said: Said, gpu: str, word: Word, cell: str, line: str) -> None:
    """A cell about a GPU. One that says that the GPU is broken is kept as that; but the status of the fabric is an
    error by itself, and only in brackets one of asking for it."""
    if _RESET.fullmatch(cell.strip()):
        said.value(about(gpu, "needs_reset"), True, line)
    elif _BROKEN.fullmatch(cell.strip()) and (word is not FABRIC_STATUS or cell.strip().startswith("[")):
        said.value(about(gpu, "unreadable"), word.name, line)
    elif (value := word.read(cell.strip())) is not None:
        word.kind(said, about(gpu, word.name), value, line)


BUS = Word("bus", pci_address)
NAME = Word("name")
DRIVER = Word("driver")
VBIOS = Word("vbios")
PERSISTENCE = Word("persistence", yes_or_no)
PERFORMANCE_STATE = Word("performance_state", text_of, Said.moment)
GENERATION = Word("pcie_generation", whole, Said.moment)
GENERATION_MAX = Word("pcie_generation_max", whole)
WIDTH = Word("pcie_width", whole)
WIDTH_MAX = Word("pcie_width_max", whole)
REPLAYS = Word("pcie_replays", whole, Said.counter)
ECC = Word("ecc", yes_or_no)
ECC_PENDING = Word("ecc_pending", yes_or_no)
RECOVERY_ACTION = Word("recovery_action")
CORRECTED = Word("ecc_corrected", whole, Said.counter)
UNCORRECTED = Word("ecc_uncorrected", whole, Said.counter)
UNCORRECTED_EVER = Word("ecc_uncorrected_ever", whole, Said.counter)
REASONS_ACTIVE = Word("clock_reasons", reasons, Said.moment)
TEMPERATURE = Word("temperature", measured, Said.moment)
MEMORY_TEMPERATURE = Word("memory_temperature", measured, Said.moment)
MEMORY_MAX_TEMPERATURE = Word("memory_max_temperature", measured)
SLOWDOWN_TEMPERATURE = Word("slowdown_temperature", measured)
POWER = Word("power", measured, Said.moment)
POWER_LIMIT = Word("power_limit", measured)
POWER_LIMIT_DEFAULT = Word("power_limit_default", measured)
UTILIZATION = Word("utilization", whole, Said.moment)
MEMORY = Word("memory_mib", whole)
MEMORY_USED = Word("memory_used_mib", whole, Said.moment)
MIG = Word("mig", yes_or_no)
COMPUTE_MODE = Word("compute_mode")
FABRIC_STATE = Word("fabric_state")
FABRIC_STATUS = Word("fabric_status")
RETIRED_SINGLE = Word("retired_single", whole, Said.counter)
RETIRED_DOUBLE = Word("retired_double", whole, Said.counter)
RETIRED_PENDING = Word("retired_pending", yes_or_no)
REMAPPED = Word("remapped_uncorrectable", whole, Said.counter)
REMAPPED_CORRECTABLE = Word("remapped_correctable", whole, Said.counter)
REMAP_PENDING = Word("remap_pending", yes_or_no)
REMAP_FAILED = Word("remap_failed", yes_or_no)
