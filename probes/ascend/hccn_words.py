"""What the answers of hccn_tool have in common: `key: value` lines, tables, times, and the words for a broken device.

Pure functions of text. May import: probes.tool_text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from ipaddress import ip_address

from probes.tool_text import cells, lines, number, pairs

FAULTS = (
    "Optical module is not present",
    "Control link unreachable",
    "The device is not exist",
    "Link status is down",
    "The Certificate has expired",
)
"""Messages instead of an answer that are a fault of the device, as the driver's source has them."""

_DEVICE = re.compile(r"^\s*\[dev(?:id|ice)\s*[0-9]{1,4}\]\s*", re.IGNORECASE)
_TIME = re.compile(r"([A-Z][a-z]{2})\s{1,4}([0-9]{1,2})\s{1,4}([0-9]{2}):([0-9]{2}):([0-9]{2})\s{1,4}([0-9]{4})(?!\d)")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def fields(text: str) -> Iterator[tuple[str, str, str]]:
    """(key, value, line) of every line `key: value`; keys in lower case, without the `[devid 0]` in front of them."""
    for key, value, line in pairs(text):
        yield " ".join(without_device(key).lower().split()), value, line


def without_device(line: str) -> str:
    """Without the `[devid 0]` or `[device 0]` that some answers put before each line."""
    return _DEVICE.sub("", line)


def rows(text: str) -> Iterator[tuple[Mapping[str, str], str]]:
    """(column -> cell, line) of each row of the tables in a text. A row of another length heads a new table."""
    head: list[str] = []
    for line in lines(text):
        found = cells(line)
        if found and len(found) == len(head):
            yield dict(zip(head, found, strict=True)), line
        elif found:
            head = [cell.lower() for cell in found]


def measured(text: str) -> float | None:
    """The number that a text begins with; None also for one that no device can measure."""
    found = number(text)
    return found if found is not None and math.isfinite(found) else None


def moment(text: str) -> str | None:
    """The first time `Wed Aug  2 03:09:26 2022` in a text, as 2022-08-02T03:09:26; by hand, as `strptime` goes by the
    language of the user."""
    match = _TIME.search(text)
    if match is None or match[1] not in _MONTHS:
        return None
    day, hour, minute, second, year = (int(match[group]) for group in (2, 3, 4, 5, 6))
    try:
        return datetime(year, _MONTHS.index(match[1]) + 1, day, hour, minute, second).isoformat()
    except ValueError:
        return None


def address(text: str) -> str | None:
    """An IP address as it is usually written; None for what is none, and for 0.0.0.0, which stands for "not set"."""
    try:
        found = ip_address(text.strip())
    except ValueError:
        return None
    return None if found.is_unspecified else str(found)


def fault(text: str) -> str | None:
    """The line that says that the device is broken."""
    return next((line.strip() for line in lines(text) for words in FAULTS if words.lower() in line.lower()), None)
