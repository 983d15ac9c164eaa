"""Lines of a diagnosis: a key with its text, and what is left out. May import: layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from opsdist_cli.output.layout import wrapped

REMARK = 165
"""Letters of what is said in passing: at most two lines."""

Item = TypeVar("Item")

_MARGIN = " " * 14


def entry(key: str, text: str) -> list[str]:
    """`key  text`; a long text goes on below itself."""
    return wrapped(text, f"  {key}".ljust(len(_MARGIN)), _MARGIN)


def listed(names: Sequence[str], most: int = 6) -> str:
    """The first ones, and how many there are beside them."""
    return "; ".join([*names[:most], *[f"and {len(names) - most} more"] * (len(names) > most)])


def first(items: Sequence[Item], most: int) -> Sequence[Item]:
    """Those that have lines of their own. One more than `most` has one too, instead of a line that it is left out."""
    return items if len(items) <= most + 1 else items[:most]


def more(items: Sequence[object], most: int, what: str) -> list[str]:
    """A line for those that have none, if there are any."""
    left = len(items) - len(first(items, most))
    return [f"{_MARGIN}and {left} more {what}"] if left else []
