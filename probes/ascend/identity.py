"""The ids of NPUs, in one table: card, chip, logical and physical id name the same device in different tools.

`npu-smi -i` takes the card and `-c` the chip on it; `hccn_tool -i` and /dev/davinci* the physical id; the logical id is
what ASCEND_VISIBLE_DEVICES counts by. On cards with two dies the physical id is 2 x card + chip (driver source). In a
container ids may be sparse, or begin at 1.
May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from probes.ascend.npu_table import ROWS, Row
from probes.host import Host
from probes.reading import Reading

_PORT_ASKED = re.compile(r"hccn_tool\b.* -i ([0-9]{1,4})(?![0-9])")
_CARD_ASKED = re.compile(r"npu-smi info\b.* -i ([0-9]{1,4})(?![0-9])")
_CHIP_ASKED = re.compile(r" -c ([0-9]{1,2})(?![0-9])")
_DEVICE = re.compile(r"davinci([0-9]{1,4})")
_IN_MATRIX = re.compile(r"(npu|phy)([0-9]{1,4})")
_TABLES = ("info", "map", "list")
"""Those that know most come first."""
_BY_LOGICAL = "310"
"""Chips of inference cards, whose physical ids are counted like the logical ones and not like the cards."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`id` is the physical one."""

    id: int
    present: bool
    card: int | None = None
    chip: int | None = None
    logical: int | None = None
    name: str | None = None
    bus: str | None = None


def identities(host: Host, configured: Iterable[int], readings: Mapping[str, Reading]) -> tuple[Identity, ...] | None:
    """All devices that anything knows of, by physical id; None where nothing could be asked. `configured`: those in
    /etc/hccn.conf. `readings`: what npu-smi says of the host, with the rows of its tables."""
    files = host.listdir("/dev")
    present = {int(name[1]) for name in map(_DEVICE.fullmatch, files or ()) if name}
    asked = host.recorded() or ()
    chips = _chips(readings, asked)
    found: dict[int, Identity] = {}
    for row in chips:
        device = _physical(row, chips, present)
        known = Identity(device, device in present, row.card, row.chip, row.logical, row.name, row.bus)
        found.setdefault(device, known)
    ports = {int(match[1]) for line in asked if (match := _PORT_ASKED.search(line))}
    for device in {*present, *ports, *configured, *_in_matrix(readings, "phy")}:
        found.setdefault(device, Identity(device, device in present))
    if files is None and not found:
        return None
    return tuple(found[device] for device in sorted(found))


def rows_of(readings: Mapping[str, Reading], query: str) -> tuple[Row, ...]:
    """What a table says of each chip."""
    return readings[query].momentary.get(ROWS, ()) if query in readings else ()


def _in_matrix(readings: Mapping[str, Reading], kind: str) -> list[int]:
    """The numbers of devices in the matrix of links, which names cards (npu) or physical ids (phy)."""
    matrix = readings["topology"].values if "topology" in readings else {}
    named = {*matrix, *(name for row in matrix.values() if isinstance(row, Mapping) for name in row)}
    matches = [match for match in map(_IN_MATRIX.fullmatch, named) if match]
    return sorted(int(match[2]) for match in matches if match[1] == kind)


def _chips(readings: Mapping[str, Reading], asked: Sequence[str]) -> list[Row]:
    """One row for each chip, with all that the sources say of it."""
    chips: dict[tuple[int, int], Row] = {}
    for row in (row for table in _TABLES for row in rows_of(readings, table)):
        so_far = chips.setdefault((row.card, row.chip or 0), Row(row.card))
        for name in ("chip", "physical", "logical", "name", "bus"):
            if getattr(so_far, name) is None:
                setattr(so_far, name, getattr(row, name))
    for card in _in_matrix(readings, "npu"):
        _add(chips, card, None)
    for line in asked:
        if match := _CARD_ASKED.search(line):
            chip = _CHIP_ASKED.search(line)
            _add(chips, int(match[1]), int(chip[1]) if chip else None)
    return list(chips.values())


def _add(chips: dict[tuple[int, int], Row], card: int, chip: int | None) -> None:
    """A chip nobody else knows of, unless its card is known and this is a helper chip on it."""
    if same := chips.get((card, chip or 0)):
        same.chip = chip if same.chip is None else same.chip
    elif all(row.card != card or row.name is None for row in chips.values()):
        chips[card, chip or 0] = Row(card, chip)


def _physical(row: Row, chips: Sequence[Row], present: set[int]) -> int:
    """As printed, else as it follows from the other ids."""
    if row.physical is not None:
        return row.physical
    if row.logical is not None and (_BY_LOGICAL in (row.name or "") or _counted_logically(chips, present)):
        return row.logical
    return 2 * row.card + (row.chip or 0) if any((other.chip or 0) > 0 for other in chips) else row.card


def _counted_logically(chips: Sequence[Row], present: set[int]) -> bool:
    """Whether the files in /dev go by logical ids, and surely not by cards."""
    logical = {row.logical for row in chips}
    return bool(present) and None not in logical and logical <= present and not {row.card for row in chips} <= present
