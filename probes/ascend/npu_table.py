"""The big table of `npu-smi info`: for each chip two rows in one table, and its processes in another.

Rows are told apart by what stands in them, and their last cell is read by the words of the heading, since the widths
and some columns differ between 910A, 910B, A3 (a column Phy-ID), 310P (a column Device) and 950 (empty cells for ids).
May import: probes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from probes.ascend.npu_words import amount_of, answer, integer
from probes.reading import Said
from probes.tool_text import cells, lines, whole

ROWS = "rows"
"""The momentary value under which rows are handed on to those who make a reading of each device."""

_BUS = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]{1,2}")
_VERSION = re.compile(r"npu-smi\s+(\S+)\s+Version:\s*(\S+)")
_NO_PROCESS = re.compile(r"No running process(?:es)? found in NPU\s+(\d{1,4})")
_BYTES_AT_LEAST = 1 << 20
"""Less than that is not the memory of a process in bytes: some tools say bytes and mean megabytes."""
_HEADING = re.compile(r"([A-Za-z][A-Za-z -]*)\([^()]{1,10}\)")
_INCOMPLETE = re.compile(r"driver package may not be completely installed")
_FIRST = ("Power", "Temp", "Hugepages-Usage")
_SECOND = ("AICore", "Memory-Usage", "HBM-Usage")
_NAMES = {
    "power": "power_w", "temp": "temperature_c", "aicore": "aicore_percent", "npu util": "aicore_percent",
    "hugepages-usage": "hugepages", "memory-usage": "memory_mb", "hbm-usage": "hbm_mb",
}  # fmt: skip
_PAIRS = frozenset({"hugepages", "memory_mb", "hbm_mb"})


@dataclass(slots=True)
class Row:
    """One chip: its ids as the tool has them, and what it says of it. `physical` and `logical` are rarely printed, and
    `chip` is not by tools of 950."""

    card: int
    chip: int | None = None
    physical: int | None = None
    logical: int | None = None
    name: str | None = None
    bus: str | None = None
    said: Said = field(default_factory=Said)


@dataclass(slots=True)
class _Reader:
    """What was read so far. `open`: its second row has not come yet."""

    said: Said
    rows: list[Row] = field(default_factory=list)
    open: Row | None = None
    first: tuple[str, ...] = _FIRST
    second: tuple[str, ...] = _SECOND
    third: str = "Phy-ID"
    in_processes: bool = False
    bytes_each: bool = False
    processes: list[tuple[int, int | None, dict[str, Any], str]] = field(default_factory=list)
    idle: set[int] = field(default_factory=set)

    def take(self, line: str) -> None:
        if match := _VERSION.search(line):
            self.said.value("version", match[2], line)
        elif _INCOMPLETE.search(line):
            self.said.value("driver_incomplete", True, line)
        elif match := _NO_PROCESS.search(line):
            self.idle.add(int(match[1]))
        elif (row := cells(line)) and not self._heading(row):
            (self._process if self.in_processes else self._device)(row, line)

    def _heading(self, row: list[str]) -> bool:
        if "Process id" in row:
            self.in_processes, self.bytes_each = True, row[-1].endswith("(B)")
        elif "Health" in row:
            self.in_processes, self.first = False, _headings(row[-1]) or _FIRST
        elif "Bus-Id" in row:
            self.second, self.third = _headings(row[-1]) or _SECOND, row[0]
        else:
            return False
        return True

    def _device(self, row: list[str], line: str) -> None:
        if len(row) < 3:
            return
        ids, middle, told = " ".join(row[:-2]).split(), row[-2], row[-1]
        if self.open and (_BUS.fullmatch(middle) or middle == "NA"):
            self._second_row(self.open, ids, middle, told, line)
            self.open = None
        elif ids and (card := integer(ids[0])) is not None and re.fullmatch(r"[A-Za-z]+", middle):
            self.open = Row(card, name=" ".join(ids[1:]) or None)
            self.rows.append(self.open)
            self.open.said.value("health", middle, line)
            if self.open.name:
                self.open.said.value("name", self.open.name, line)
            _measures(self.open.said, self.first, told, line)

    def _second_row(self, row: Row, ids: list[str], bus: str, told: str, line: str) -> None:
        row.bus = bus.lower() if _BUS.fullmatch(bus) else None
        row.chip = integer(ids[0]) if ids else None
        if len(ids) > 1:
            if "Device" in self.third:
                row.logical = integer(ids[1])
            else:
                row.physical = integer(ids[1])
        _measures(row.said, self.second, told, line)

    def _process(self, row: list[str], line: str) -> None:
        ids = row[0].split()
        if len(row) < 4 or not ids or (card := integer(ids[0])) is None:
            return
        held = whole(row[-1])
        if held is not None and self.bytes_each and held >= _BYTES_AT_LEAST:
            held >>= 20
        process = {"pid": integer(row[1]), "name": row[2], "memory_mb": held}
        self.processes.append((card, integer(ids[1]) if len(ids) > 1 else None, process, line))

    def finish(self) -> None:
        seen: dict[tuple[int, int], Row] = {}
        for row in self.rows:
            seen.setdefault((row.card, row.chip or 0), row)
        for row in seen.values() if self.in_processes else ():
            self._processes_of(row)
        if seen or self.in_processes:
            self.said.value("count", len(seen))
        if seen:
            self.said.moment(ROWS, tuple(seen.values()))

    def _processes_of(self, row: Row) -> None:
        """Unknown for a card that is not mentioned among others that have processes: the table was cut."""
        own = [entry for entry in self.processes if entry[0] == row.card and entry[1] in (None, row.chip or 0)]
        if own or not self.processes or row.card in self.idle | {entry[0] for entry in self.processes}:
            row.said.moment("processes", [entry[2] for entry in own], own[0][3] if own else "")


def _headings(cell: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in _HEADING.findall(cell))


def _measures(said: Said, headings: tuple[str, ...], cell: str, line: str) -> None:
    """Numbers below their headings; `used / total` is one of them, with or without blanks."""
    for heading, told in zip(headings, re.sub(r"\s*/\s*", "/", cell).split(), strict=False):
        name = _NAMES.get(heading.lower())
        if name in _PAIRS:
            used, _, total = told.partition("/")
            _count(said.moment, f"{name}_used", used, line)
            _count(said.value, f"{name}_total", total, line)
        elif name is not None and (measured := amount_of(told)) is not None:
            said.moment(name, measured, line)


def _count(put: Any, name: str, text: str, line: str) -> None:
    if (count := integer(text)) is not None:
        put(name, count, line)


def _fill(text: str, said: Said) -> None:
    reader = _Reader(said)
    for line in lines(text):
        reader.take(line)
    reader.finish()


parse_table = answer(_fill)
