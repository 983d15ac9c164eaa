"""Pieces of text that vendor tools print, taken apart by words and separators, never by column offsets.

Pure functions of text. May import: the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?")
_RULE = re.compile(r"[\s|+=-]*")


def clean(text: str) -> str:
    """Without byte order mark, terminal escapes and carriage returns, as logs that were copied from a screen have."""
    return _ESCAPE.sub("", text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))


def lines(text: str) -> list[str]:
    """Lines that hold anything. (Not `splitlines`, which also breaks at form feeds and the like.)"""
    return [line for line in clean(text).split("\n") if line.strip()]


def pairs(text: str, separator: str = ":") -> Iterator[tuple[str, str, str]]:
    """(key, value, line) of every line `key : value`. A line with an empty key goes on with the one before, and is
    given under its key again."""
    key = ""
    for line in lines(text):
        before, found, after = line.partition(separator)
        if found:
            key = before.strip() or key
            yield key, after.strip(), line


def cells(line: str) -> list[str]:
    """The cells of a row `| a | b  c |`; none for what is no row, and for a ruler."""
    text = line.strip()
    if not text.startswith("|") or _RULE.fullmatch(text):
        return []
    return [cell.strip() for cell in text.strip("|").split("|")]


def number(text: str) -> float | None:
    """The number that a text begins with, whatever unit follows; None for "-", "N/A" and the like."""
    match = _NUMBER.match(text.strip())
    return float(match[0]) if match else None


def whole(text: str) -> int | None:
    """As `number`, for what is counted; decimal digits only, of a length that a counter can have."""
    match = re.match(r"\d{1,20}(?![\d.])", text.strip())
    return int(match[0]) if match else None


def first_match(text: str, patterns: Mapping[str, re.Pattern[str]]) -> tuple[str, re.Match[str]] | None:
    """The first of the patterns, in their order, that is found anywhere."""
    return next(((name, match) for name, pattern in patterns.items() if (match := pattern.search(text))), None)
