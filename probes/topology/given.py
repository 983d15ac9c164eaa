"""Facts as they are given, taken as far as they have the expected shape. May import: the standard library.

They come from this host, from another version of opsdist, or from a file that somebody has edited: whatever is not as
expected is taken for not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SLOT = re.compile(r"(?:0{0,4}([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
_LAST_NUMBER = re.compile(r"([0-9]{1,6})\Z")


def below(facts: Any, *path: str) -> Any:
    """What lies at a path of keys; None where there is no such thing."""
    for key in path:
        facts = facts.get(key) if isinstance(facts, Mapping) else None
    return facts


def mapping(value: Any) -> Mapping[str, Any]:
    """With texts as keys."""
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}


def rows(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list."""
    if isinstance(value, list | tuple):
        yield from (mapping(item) for item in value if isinstance(item, Mapping))


def text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """A number that is not negative, also written as text."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}", value.strip()):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def wholes(value: Any) -> tuple[int, ...] | None:
    """Numbers in ascending order; None where there are none."""
    found = {number for item in value if (number := whole(item)) is not None} if isinstance(value, list | tuple) else ()
    return tuple(sorted(found)) or None


def slot(value: Any) -> str | None:
    """A PCI address as the kernel writes it: `00000000:1A:00.0` is 0000:1a:00.0."""
    match = _SLOT.fullmatch(value.strip().lower()) if isinstance(value, str) else None
    return f"{match[1] or '0000'}:{match[2]}" if match else None


def last_number(label: str) -> int | None:
    """The 3 of `GPU3` and `Phy-ID3`."""
    match = _LAST_NUMBER.search(label)
    return int(match[1]) if match else None
