"""`ethtool`: why an interface has no link, its FEC and pause, driver and firmware. May import: probes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from probes.network.interface import parse_speed
from probes.reading import Said, State
from probes.recorded.commandline import typed
from probes.tool_text import lines, pairs
from probes.visit import Query, Tool, Visit

TOOL = Tool(
    "ethtool",
    places=("/usr/sbin/ethtool", "/sbin/ethtool"),
    messages=(
        (r"operation not supported|no data available|not supported", State.UNSUPPORTED),
        (r"no such device", State.ABSENT),
    ),
)
_MODE = re.compile(r"(?<!\d)(\d{2,7})base")
_MEGABIT = 125_000
"""Bytes per second."""
_DETECTED = re.compile(r"(yes|no)\b\s*(?:\((.{1,120}?)\))?")


def recorded(visit: Visit) -> list[str]:
    """Interfaces of which somebody recorded what `ethtool` says."""
    return list(dict.fromkeys(words[-1] for words in typed(visit.recorded(), TOOL.name) if words))


def parse_link(text: str) -> Said:
    """`ethtool eth0`. The reason why there is no link stands in brackets."""
    said = Said()
    for key, value, line in pairs(text):
        if key == "Link detected" and (match := _DETECTED.match(value)):
            said.value("link", match[1] == "yes", line)
            if match[2]:
                said.value("reason", match[2], line)
        elif key == "Speed" and (speed := parse_speed(value.partition("Mb/s")[0])):
            said.value("speed_bytes_per_second", speed, line)
        elif key == "Duplex" and value.lower() in ("half", "full"):
            said.value("duplex", value.lower(), line)
        elif key in ("Auto-negotiation", "Port") and value:
            said.value(key.lower().replace("-", "_"), value, line)
    if modes := list(_modes(text)):
        fastest, line = max(modes, key=lambda mode: mode[0])
        said.value("supported_bytes_per_second", fastest * _MEGABIT, line)
    return said


def _modes(text: str) -> Iterator[tuple[int, str]]:
    """The megabits of each supported mode, and its line: the first follows the key, the others stand below."""
    within = False
    for line in lines(text):
        if ":" in line:
            within = line.strip().startswith("Supported link modes")
        if within:
            yield from ((int(mode), line) for mode in _MODE.findall(line))


def parse_driver(text: str) -> Said:
    """`ethtool -i eth0`."""
    said = Said()
    for key, value, line in pairs(text):
        name = {"driver": "driver", "version": "version", "firmware-version": "firmware"}.get(key)
        if name and value:
            said.value(name, value, line)
    return said


def parse_fec(text: str) -> Said:
    """`ethtool --show-fec eth0`; older ones say "Configured" alone."""
    said = Said()
    for key, value, line in pairs(text):
        if key in ("Configured FEC encodings", "Supported/Configured FEC encodings") and value:
            said.value("configured", value, line)
        elif key in ("Active FEC encoding", "Active FEC encodings") and value:
            said.value("active", value, line)
    return said


def parse_pause(text: str) -> Said:
    """`ethtool -a eth0`."""
    said = Said()
    for key, value, line in pairs(text):
        if key in ("Autonegotiate", "RX", "TX") and value in ("on", "off"):
            said.value(key.lower(), value == "on", line)
    return said


QUERIES = (
    Query("link", "{interface}", parse_link, seconds=10.0, quick=True),
    Query("driver", "-i {interface}", parse_driver, seconds=10.0),
    Query("fec", "--show-fec {interface}", parse_fec, seconds=10.0),
    Query("pause", "-a {interface}", parse_pause, seconds=10.0),
)
