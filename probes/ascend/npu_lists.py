"""Which NPUs there are: `npu-smi info -l` and `-m`, and the accelerators that `lspci` lists.

May import: probes.
"""

from __future__ import annotations

import re

from probes.ascend.npu_table import ROWS, Row
from probes.ascend.npu_words import answer, integer
from probes.reading import Said
from probes.tool_text import lines, pairs, whole

_COLUMNS = re.compile(r"NPU ID|Slot ID|Chip Logic ID|Chip Phy-ID|Chip ID|Chip Name")
_ACCELERATOR = re.compile(r"Processing accelerators.*Huawei|19e5:d80[0-9a-f]|Huawei.*Device d80[0-9a-f]", re.IGNORECASE)
"""19e5 is Huawei; d801 a 910A, d802 a 910B, d803 an A3, d806 a 950 (driver source)."""
_MOST_CHIPS = 16
_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])\s", re.IGNORECASE)


_MOST_CHIPS = 16
"""On a card; a number beyond that is no count."""


def _fill_list(text: str, said: Said) -> None:
    chips: dict[int, int | None] = {}
    card: int | None = None
    for key, told, line in pairs(text):
        count = whole(told)
        if key in ("Total Count", "Card Count") and count is not None:
            said.value("count", count, line)
        elif key == "NPU ID" and count is not None:
            card = count
            chips.setdefault(card, None)
        elif key == "Chip Count" and count is not None and card is not None:
            chips[card] = min(count, _MOST_CHIPS)
        elif key == "Product Name" and told:
            said.value("product", told, line)
    if chips:
        said.value("cards", list(chips))
        said.moment(ROWS, tuple(row for card, count in chips.items() for row in _of_card(card, count or 1)))


def _of_card(card: int, chips: int) -> list[Row]:
    """A card's only chip may have no number of its own."""
    return [Row(card, chip) for chip in range(min(chips, _MOST_CHIPS))] if chips > 1 else [Row(card)]


def _fill_map(text: str, said: Said) -> None:
    columns: list[str] = []
    rows: list[Row] = []
    for line in lines(text):
        named = _COLUMNS.findall(line)
        if "NPU ID" in named and "Chip Name" in named:
            columns = named
        elif columns and (row := _mapped(columns, line)):
            rows.append(row)
    if columns and rows:
        said.value("count", len(rows))
        said.moment(ROWS, tuple(rows))


def _mapped(columns: list[str], line: str) -> Row | None:
    """None for a helper chip, which has no logical or physical id. The name is the last column and may have blanks."""
    told = dict(zip(columns, line.split(None, len(columns) - 1), strict=False))
    ids = {column: integer(told[column]) for column in columns[:-1] if column in told}
    card, chip = ids.get("NPU ID"), ids.get("Chip ID")
    own = [ids[column] for column in ("Chip Logic ID", "Chip Phy-ID") if column in ids]
    name = told.get("Chip Name", "").strip()
    if card is None or None in own or not name or name.lower() == "mcu":
        return None
    return Row(card, chip, ids.get("Chip Phy-ID"), ids.get("Chip Logic ID"), name)


def parse_lspci(text: str) -> Said:
    """Also of `lspci | grep acce`, and with numbers in place of names."""
    said = Said()
    found = {_bus(match): line for line in lines(text) if (match := _listed(line))}
    if found:
        said.value("count", len(found), next(iter(found.values())))
        said.moment("buses", sorted(found))
    return said


def _listed(line: str) -> re.Match[str] | None:
    return _ADDRESS.match(line.lstrip()) if _ACCELERATOR.search(line[:500]) else None


def _bus(match: re.Match[str]) -> str:
    return f"{match[1] or '0000'}:{match[2]}".lower()


parse_list = answer(_fill_list)
parse_map = answer(_fill_map)
