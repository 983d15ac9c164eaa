"""Text for people, below 100 columns: aligned pairs, small tables, wrapped sentences. Strings in, lines out.

May import: the standard library.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 99
_KEY_WIDTH = 24


def pairs(rows: Iterable[tuple[str, str]], indent: int = 2) -> list[str]:
    """`key  value` lines; a long value goes on below itself, a long key has a line of its own."""
    lines = []
    margin = " " * (indent + _KEY_WIDTH)
    for key, value in rows:
        head = " " * indent + clean(key)
        if len(head) >= len(margin):
            lines += wrapped(key, " " * indent, " " * indent)
            head = margin
        lines += wrapped(value, head.ljust(len(margin)), margin)
    return lines


def table(header: Sequence[str], rows: Iterable[Sequence[str]], indent: int = 2) -> list[str]:
    """Columns as wide as they need; the last one wraps."""
    body = [header, *rows]
    widths = [max(len(row[column]) for row in body) + 2 for column in range(len(header) - 1)]
    lines = []
    for row in body:
        head = " " * indent + "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        lines += wrapped(row[-1], head, " " * len(head))
    return lines


def wrapped(text: str, head: str, margin: str) -> list[str]:
    """`head` and the text after it; further lines start with `margin`."""
    return textwrap.wrap(clean(text), WIDTH, initial_indent=head, subsequent_indent=margin, break_on_hyphens=False) or [
        head.rstrip()
    ]


def clean(text: str) -> str:
    """Control characters are shown, not obeyed: values come from outside."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers such as 0-3,8."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)
