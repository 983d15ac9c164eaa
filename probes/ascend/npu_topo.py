"""The matrix of `npu-smi info -t topo`: how each NPU reaches each other.

May import: probes.
"""

from __future__ import annotations

import re

from probes.ascend.npu_words import answer
from probes.reading import Said
from probes.tool_text import lines

_NAME = re.compile(r"(NPU|Phy-ID|NIC)\s?(\d{1,4})")
_CELL = re.compile(r"[A-Z_]{1,10}\d{0,2}|[A-Z]+/[A-Z]+")
_AFFINITY = re.compile(r"[\d,-]+")


def _fill(text: str, said: Said) -> None:
    """A value for each row, `npu3: {npu0: HCCS, ...}`, or `phy3` where it is named by physical id."""
    columns: list[str] = []
    affinity: dict[str, str] = {}
    for line in lines(text):
        words = _NAME.sub(lambda match: f"{match[1]}{match[2]}", line).split()
        if words[0].startswith("Legend"):
            break
        names = [_name(match) for word in words if (match := _NAME.fullmatch(word))]
        if not columns:
            columns = names if len(names) > 1 or (names and "Affinity" in line) else []
        elif len(names) == 1 and _NAME.fullmatch(words[0]) and not words[0].startswith("NIC"):
            row = _row(columns, words[1:])
            if row:
                said.value(names[0], row, line)
            rest = words[1 + len(columns) :]
            if rest and _AFFINITY.fullmatch(rest[0]):
                affinity[names[0]] = rest[0]
    if affinity:
        said.value("affinity", affinity)


def _row(columns: list[str], words: list[str]) -> dict[str, str]:
    return {name: word for name, word in zip(columns, words, strict=False) if _CELL.fullmatch(word) and word != "X"}


def _name(match: re.Match[str]) -> str:
    return {"NPU": "npu", "NIC": "nic"}.get(match[1], "phy") + match[2]


parse_topology = answer(_fill)
