"""Lines of a diagnosis: a key with its text, and what is left out. May import: layout."""

from __future__ import annotations

from collections.abc import Sequence

from opsdist_cli.output.layout import wrapped

REMARK = 165
"""Letters of what is said in passing: at most two lines."""

_MARGIN = " " * 14


def entry(key: str, text: str) -> list[str]:
    """`key  text`; a long text goes on below itself."""
    return wrapped(text, f"  {key}".ljust(len(_MARGIN)), _MARGIN)


def listed(names: Sequence[str], most: int = 6) -> str:
    """The first ones, and how many there are beside them."""
    return "; ".join([*names[:most], *[f"and {len(names) - most} more"] * (len(names) > most)])


def more(number: int, what: str) -> list[str]:
    """A line for what has no lines of its own."""
    return [f"{_MARGIN}and {number} more {what}"] if number > 0 else []
