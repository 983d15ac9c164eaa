"""Values of JSON that others wrote: each is what it should be there, or nothing.

May import: facts, source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from suites.diagnose.evidence.source import Source
from suites.diagnose.facts import Unread

_LARGEST = 1 << 26


def whole(source: Source, what: str) -> Mapping[str, Any] | Unread:
    """The one object that a source is, where it is `what`."""
    with source.open() as stream:
        text = stream.read(_LARGEST).decode("utf-8", "replace")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Unread(source.name, f"{what}, cut off or damaged ({error})")
    return told if isinstance(told, dict) else Unread(source.name, f"not {what}")


def mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[Mapping[Any, Any]]:
    """Of a list those that are some."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def natural(value: Any) -> int | None:
    """From 0 on, as a number or a text of one."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value, re.ASCII):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def word(value: Any) -> str:
    return value if isinstance(value, str) else ""
