"""How each AMD GPU reaches the others: `amd-smi topology` and `rocm-smi --showtopo`, as tables or as JSON.

Both print one matrix for each property of a link: amd-smi names GPUs by their PCI address, in the order of its own
indices, rocm-smi by its index, which is that of DRM. Tables may follow each other without an empty line. Of each GPU
`links` says: index of another -> link (XGMI or PCIE), weight, hops, access (ENABLED or DISABLED), bandwidth.
May import: probes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from probes.by_device import about, pci_address
from probes.reading import Said
from probes.tool_text import clean, lines, whole

_PROPERTIES: Mapping[str, str] = {
    "access": "access", "link accessibility": "access", "weight": "weight", "hops": "hops", "link type": "link",
    "numa bw": "bandwidth",
}  # fmt: skip
_TITLE = re.compile(r"[=\s]*([A-Za-z][A-Za-z -]{1,40}?)(?: TABLE:| between two GPUs\b)[=\s]*")
_GPU = re.compile(r"GPU\s?(\d{1,3})")
_NUMA = re.compile(r"\s*GPU\s?\[?(\d{1,3})\]?\s*:\s*\(Topology\) Numa Node:\s*(\d{1,4})\s*")
_PAIR = re.compile(r"\(Topology\) (Weight|Hops|Link type) between DRM devices (\d{1,3}) and (\d{1,3})", re.IGNORECASE)
_NO_WORD = frozenset({"n/a", "na", "self", "unknown", "-"})
_ACCESS = {"true": "ENABLED", "false": "DISABLED"}


@dataclass(slots=True)
class _Links:
    """`cells`: GPU -> other -> property -> value. `rows`: (GPU, property) -> line."""

    buses: dict[str, str] = field(default_factory=dict)
    numa: dict[str, tuple[int, str]] = field(default_factory=dict)
    cells: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    rows: dict[tuple[str, str], str] = field(default_factory=dict)

    def put(self, gpu: str, other: str, what: str, cell: str) -> None:
        row = self.cells.setdefault(gpu, {})
        value = _value(what, cell)
        if gpu != other and value is not None:
            row.setdefault(other, {}).setdefault(what, value)

    def said(self) -> Said:
        said = Said()
        for gpu in dict.fromkeys([*self.cells, *self.buses, *self.numa]):
            said.value(about(gpu, "present"), True)
            if gpu in self.buses:
                said.value(about(gpu, "bus"), self.buses[gpu])
            if gpu in self.numa:
                said.value(about(gpu, "numa"), *self.numa[gpu])
            if links := self.cells.get(gpu):
                said.value(about(gpu, "links"), links)
        for (gpu, what), line in self.rows.items():
            said.lines[about(gpu, what)] = line.strip()[:200]
        return said


def parse_topology(text: str) -> Said:
    """Of either tool, in either form."""
    if (found := _json(clean(text))) is not None:
        return found
    links, what, columns = _Links(), "", list[str]()
    for line in lines(text):
        words = line.split()
        if title := _TITLE.fullmatch(line):
            what, columns = _PROPERTIES.get(title[1].strip().lower(), ""), []
        elif numa := _NUMA.fullmatch(line):
            links.numa.setdefault(numa[1], (int(numa[2]), line))
        elif words[0] == "Legend:":
            what = ""
        elif all(_names_gpu(word) for word in words):
            columns = words
            for number, word in enumerate(words):
                if bus := pci_address(word):
                    links.buses.setdefault(str(number), bus)
        elif what and words[0] in columns:
            _row(links, what, columns, words, line)
    return links.said()


def _row(links: _Links, what: str, columns: list[str], words: list[str], line: str) -> None:
    gpu = _index(columns, words[0])
    for column, cell in zip(columns, words[1:], strict=False):
        links.put(gpu, _index(columns, column), what, cell)
    links.rows.setdefault((gpu, what), line)


def _names_gpu(word: str) -> bool:
    return bool(_GPU.fullmatch(word) or (pci_address(word) and ":" in word))


def _index(columns: list[str], word: str) -> str:
    match = _GPU.fullmatch(word)
    return match[1] if match else str(columns.index(word))


def _value(what: str, cell: str) -> Any:
    cell = cell.strip()
    if cell.lower() in _NO_WORD:
        return None
    if what in ("weight", "hops"):
        return whole(cell)
    if what == "access":
        return _ACCESS.get(cell.lower(), cell.upper()[:20])
    return cell.upper()[:20]


def _json(text: str) -> Said | None:
    """None for what is no JSON."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    links = _Links()
    if isinstance(told, list):
        _of_amd_smi(links, [entry for entry in told if isinstance(entry, dict)])
    elif isinstance(told, dict):
        _of_rocm_smi(links, told)
    return links.said()


_AMD_SMI_NAMES = {
    "link_type": "link",
    "weight": "weight",
    "num_hops": "hops",
    "link_status": "access",
    "bandwidth": "bandwidth",
}


def _of_amd_smi(links: _Links, entries: list[dict[str, Any]]) -> None:
    for entry in entries:
        gpu = str(entry.get("gpu"))
        if not gpu.isdecimal():
            continue
        if bus := pci_address(str(entry.get("bdf"))):
            links.buses.setdefault(gpu, bus)
        for link in _mappings(entry.get("links")):
            other = str(link.get("gpu"))
            for name, what in _AMD_SMI_NAMES.items() if other.isdecimal() else ():
                if name in link:
                    links.put(gpu, other, what, str(link[name]))


def _of_rocm_smi(links: _Links, told: dict[str, Any]) -> None:
    for name, card in told.items():
        for key, value in (card if isinstance(card, dict) else {}).items():
            if match := _PAIR.fullmatch(str(key)):
                what = _PROPERTIES[match[1].lower()]
                links.put(match[2], match[3], what, str(value))
                links.put(match[3], match[2], what, str(value))
            elif str(key) == "(Topology) Numa Node" and name.removeprefix("card").isdecimal():
                node = whole(str(value))
                if node is not None:
                    links.numa.setdefault(name.removeprefix("card"), (node, ""))


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    yield from (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))
