"""`nvidia-smi topo`: how each GPU reaches the others and the network cards (-m), and whether directly (-p2p).

The matrix has a header with the names of its columns, sometimes underlined, and then the columns of affinity, whose
names hold blanks. Cells are separated by tabulators or, where somebody copied them by hand, by blanks.
May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile

from probes.by_device import about
from probes.nvidia.faults import seeing_faults
from probes.reading import Said
from probes.tool_text import lines
from probes.visit import Query

_AFFINITY = {"CPU", "NUMA"}
_GPU = re.compile(r"GPU(\d{1,3})")
_CELL = re.compile(r"X|NV\d{1,3}|PIX|PXB|PHB|NODE|SYS|SOC|OK|CNS|GNS|TNS|NS|DR|U|N/A", re.IGNORECASE)
_CARD = re.compile(r"\s*(NIC\d{1,3}):\s*(\S+)\s*")
_CPUS = re.compile(r"\d[\d,-]*")


def parse_links(text: str) -> Said:
    """Of each GPU `links`: index of another -> what is between them, and `cards`: network card -> the same."""
    said = Said()
    names = {match[1]: match[2] for line in lines(text) if (match := _CARD.fullmatch(line))}
    for gpu, row, behind, line in _matrix(text):
        links = {column[3:]: cell for column, cell in row.items() if _GPU.fullmatch(column) and column != f"GPU{gpu}"}
        cards = {names.get(column, column): cell for column, cell in row.items() if not _GPU.fullmatch(column)}
        for name, value in (("links", links), ("cards", cards)):
            if value:
                said.value(about(gpu, name), value, line)
        if behind and _CPUS.fullmatch(behind[0]):
            said.value(about(gpu, "cpus"), behind[0], line)
        if len(behind) > 1 and behind[1].isdecimal():
            said.value(about(gpu, "numa"), behind[1][:6], line)
        said.value(about(gpu, "present"), True, line)
    return said


def parse_direct(text: str) -> Said:
    """Of each GPU `direct`: index of another -> OK, or why not."""
    said = Said()
    for gpu, row, _, line in _matrix(text):
        found = {column[3:]: cell for column, cell in row.items() if _GPU.fullmatch(column) and column != f"GPU{gpu}"}
        if found:
            said.value(about(gpu, "direct"), found, line)
    return said


def _matrix(text: str) -> Iterator[tuple[str, Mapping[str, str], list[str], str]]:
    """(index of a GPU, column -> cell, cells behind, line) of every row about a GPU."""
    columns: list[str] = []
    affinity = False
    for line in lines(text):
        words = line.split()
        if words[0].startswith("Legend"):
            return
        if not columns:
            columns = _columns(words)
            affinity = len(columns) < len(words)
            continue
        gpu = _GPU.fullmatch(words[0])
        cells = list(takewhile(_CELL.fullmatch, words[1 : 1 + len(columns)]))
        if len(words) == 1 + len(cells) and (affinity or len(cells) < len(columns)):
            cells = cells[:-1]  # the line was cut, and perhaps within its last cell: NV1 of NV18
        if gpu and cells:
            row = {name: cell.upper() for name, cell in zip(columns, cells, strict=False)}
            yield gpu[1], row, words[1 + len(cells) :], line


def _columns(words: list[str]) -> list[str]:
    """The names before those of affinity; none where the line is no header."""
    end = next((place for place, word in enumerate(words) if word in _AFFINITY), len(words))
    named = words[:end]
    header = bool(named) and _GPU.fullmatch(named[0]) and not any(_CELL.fullmatch(word) for word in named)
    return named if header else []


LINKS = (Query("topology", "topo -m", seeing_faults(parse_links), quick=True),)
DIRECT = (
    Query("direct", "topo -p2p r", seeing_faults(parse_direct)),
    Query("direct", "topo -p2p rw", seeing_faults(parse_direct)),
)
"""Reading is what peers do; some people have recorded both."""
