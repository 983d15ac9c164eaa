"""What identifies a single machine or part: serial numbers, UUIDs, GUIDs and hardware addresses.

They are taken out of whatever is shown or recorded, unless somebody asks for them. PCI and IP addresses stay, since
they are what findings are about. Pure functions of text. May import: the standard library.
"""

from __future__ import annotations

import re

HIDDEN = "(hidden)"

_KEYED = re.compile(
    r"(?i)(?<![a-z0-9])(?P<key>(?P<name>serial(?:[ _]?(?:number|num|no))?|sn|uuid|guid|[vn]die id|chassis id|fru[ _]id|"
    r"mac addr(?:ess)?)[\"']?(?:[ \t]{0,80}[:=|][ \t|]{0,80}| is )[\"']?)"
    r"(?P<value>[^\s|\"',)][^\n|\"',)]{0,200})"
)
_UUID = re.compile(r"(?i)\b(?:(?:GPU|MIG|NPU)-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_MAC = re.compile(
    r"(?i)(?<![0-9a-f:.-])(?:(?:[0-9a-f]{2}[:-]){5,19}[0-9a-f]{2}|[0-9a-f]{4}([.-])[0-9a-f]{4}\1[0-9a-f]{4})"
    r"(?![0-9a-f:.-])"
)
"""Of Ethernet, of InfiniBand and of PCI Express, in the ways in which they are written."""
_GUID = re.compile(r"(?i)\b0x(?!0{8})[0-9a-f]{16}\b|(?<![0-9a-f:])(?:[0-9a-f]{4}:){3}[0-9a-f]{4}(?![0-9a-f:])")
_NAMELESS = frozenset({"n/a", "na", "-", "none", "not", "unknown"})


def hidden(text: str) -> str:
    """The text without identities, each line still in its form."""
    text = _KEYED.sub(lambda match: match["key"] + (match["value"] if _says_none(match["value"]) else HIDDEN), text)
    for pattern in (_UUID, _MAC, _GUID):
        text = pattern.sub(HIDDEN, text)
    return text


def found(text: str) -> dict[str, str]:
    """The identities that a text names with a key, by that key; the first of each."""
    named: dict[str, str] = {}
    for match in _KEYED.finditer(text):
        if not _says_none(match["value"]):
            named.setdefault(match["name"], match["value"].strip())
    return named


def _says_none(value: str) -> bool:
    return value.split()[0].lower() in _NAMELESS
