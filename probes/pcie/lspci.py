"""`lspci`: blocks of text, one a device. With -vvv, and as root, they hold the device's capabilities.

May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from probes.pcie.kinds import vendor_of_text
from probes.reading import Reading, Said, State
from probes.recorded.commandline import typed
from probes.tool_text import lines
from probes.visit import Query, Tool, Visit

TOOL = Tool("lspci", places=("/usr/sbin/lspci", "/sbin/lspci"))

_HEAD = re.compile(
    r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s+([^:\[]{1,80}?)\s*(?:\[[0-9a-f]{4}\])?:\s+(\S.*)",
    re.IGNORECASE,
)
_LINK_SPEED = re.compile(r"Speed\s+(\d{1,3}(?:\.\d+)?)\s*GT/s")
_LINK_WIDTH = re.compile(r"Width\s+x(\d{1,2})(?!\d)")
_BUSES = re.compile(r"Bus:\s*primary=[0-9a-f]+,\s*secondary=([0-9a-f]+),\s*subordinate=([0-9a-f]+)", re.IGNORECASE)
_READ_REQUEST = re.compile(r"MaxReadReq\s+(\d{1,5})\s+bytes")
_DENIED = "<access denied>"
_ALL_ONES = re.compile(r"\(rev ff\)|!!! Unknown header type 7f")


@dataclass(slots=True)
class Block:
    """What one block says. `title` is the class, `name` vendor and device. A bridge leads to the buses from `secondary`
    to `subordinate`; what is no bridge leads nowhere. `off_bus`: every register reads all ones."""

    title: str
    name: str
    source: str = "lspci"
    width: int | None = None
    width_max: int | None = None
    speed: float | None = None
    speed_max: float | None = None
    numa_node: int | None = None
    driver: str | None = None
    relaxed_ordering: bool | None = None
    max_read_request: int | None = None
    access_control: bool | None = None
    secondary: int = 1
    subordinate: int = 0
    denied: bool = False
    off_bus: bool = False
    lines: dict[str, str] = field(default_factory=dict)

    @property
    def vendor(self) -> str | None:
        return vendor_of_text(self.name)

    @property
    def virtual_function(self) -> bool:
        return "virtual function" in self.name.lower()


def ask(visit: Visit, needed: bool) -> tuple[Mapping[str, Block], Reading]:
    """Blocks by address with its domain, and how the question ended: told only where capabilities could be seen.
    `needed`: there is a device that it could be about."""
    if not needed:
        return {}, Reading("lspci -vvv", State.ABSENT, "there is no device that it could tell of")
    reading = visit.ask(TOOL, QUERY, words=_words(visit.recorded()))
    blocks: dict[str, Block] = dict(reading.values)
    for block in blocks.values():
        block.source = reading.source
    if blocks and all(block.denied for block in blocks.values()):
        return blocks, replace(reading, state=State.REFUSED, reason=f"lspci says {_DENIED}: root is needed")
    if blocks and not any(block.lines for block in blocks.values()):
        return blocks, replace(reading, state=State.UNSUPPORTED, reason="there are no capabilities in this output")
    return blocks, reading


def parse(text: str) -> Said:
    """Address -> Block."""
    said = Said()
    block: Block | None = None
    for line in lines(text):
        if match := _HEAD.match(line):
            slot, title, name = match.groups()
            block = Block(title, name.strip())
            said.value(slot.lower() if slot.count(":") == 2 else f"0000:{slot.lower()}", block, line)
        elif block is not None:
            _into(block, line.strip())
        if block is not None and _ALL_ONES.search(line):
            block.off_bus = True
            block.lines["off_bus"] = line.strip()
    return said


QUERY = Query("devices", "{words}", parse, seconds=60.0)


def _words(recorded: Iterable[str] | None) -> Sequence[str]:
    """-vvv; of what was recorded that which tells most."""
    lists = [words for words in typed(recorded, TOOL.name) if not any(word.startswith("-t") for word in words)]
    most = max(lists, key=lambda words: sum(word.count("v") for word in words), default=None)
    return ["-vvv"] if most is None else most


def _into(block: Block, line: str) -> None:
    """One line below a head. A capability may be told in one line or in several, so each is looked for by its words."""
    if line.startswith("LnkCap:"):
        _link(block, line, "_max")
    elif line.startswith("LnkSta:"):
        _link(block, line, "")
    elif line.startswith("ACSCtl:"):
        _flag(block, "access_control", "SrcValid", line)
    elif line.startswith("NUMA node:") and line[10:].strip().isdecimal():
        block.numa_node = int(line[10:].strip()[:4])
    elif line.startswith("Kernel driver in use:"):
        block.driver = line.partition(":")[2].strip() or None
    elif match := _BUSES.match(line):
        block.secondary, block.subordinate = (int(number[:4], 16) for number in match.groups())
    elif _DENIED in line:
        block.denied = True
    if "RlxdOrd" in line:
        _flag(block, "relaxed_ordering", "RlxdOrd", line)
    if match := _READ_REQUEST.search(line):
        block.max_read_request = int(match[1])
        block.lines["max_read_request"] = line


def _link(block: Block, line: str, which: str) -> None:
    """A width of 0 is that of a virtual function, or of a slot with nothing in it."""
    if (match := _LINK_SPEED.search(line)) and float(match[1]):
        setattr(block, f"speed{which}", float(match[1]))
        block.lines[f"speed{which}"] = line
    if (match := _LINK_WIDTH.search(line)) and int(match[1]):
        setattr(block, f"width{which}", int(match[1]))
        block.lines[f"width{which}"] = line


def _flag(block: Block, name: str, flag: str, line: str) -> None:
    """`flag+` is on and `flag-` is off."""
    if f"{flag}+" in line or f"{flag}-" in line:
        setattr(block, name, f"{flag}+" in line)
        block.lines[name] = line
