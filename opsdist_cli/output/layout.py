"""Text for people, below 100 columns: aligned pairs, small tables, wrapped sentences. Strings in, lines out.

May import: the standard library.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest

WIDTH = 99
_INDENT = _GAP = 2
_KEY_WIDTH = 24
_LAST, _LEAST = 30, 16
"""The room of a table's last column, and of those that give way to it."""


def pairs(rows: Iterable[tuple[str, str]]) -> list[str]:
    """`key  value` lines; a long value goes on below itself, a long key has a line of its own."""
    lines = []
    indent = _INDENT
    margin = " " * (indent + _KEY_WIDTH)
    for key, value in rows:
        head = " " * indent + clean(key)
        if len(head) >= len(margin):
            lines += wrapped(key, " " * indent, " " * indent)
            head = margin
        lines += wrapped(value, head.ljust(len(margin)), margin)
    return lines


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Columns as wide as they need, as long as the last one, which wraps, keeps room; else the widest ones wrap too."""
    body = [[clean(cell) for cell in row] for row in (header, *rows)]
    widths = _fitting([max(len(row[column]) for row in body) for column in range(len(header) - 1)])
    widths.append(WIDTH - _INDENT - sum(width + _GAP for width in widths))
    lines = []
    for row in body:
        cells = [_broken(cell, width) for cell, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            line = "".join(part.ljust(width + _GAP) for part, width in zip(parts, widths, strict=True))
            lines.append((" " * _INDENT + line).rstrip())
    return lines


def _fitting(widths: list[int]) -> list[int]:
    while sum(widths) + _GAP * len(widths) > WIDTH - _INDENT - _LAST and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _broken(cell: str, width: int) -> list[str]:
    return textwrap.wrap(cell, max(1, width), break_on_hyphens=False) or [""]


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
