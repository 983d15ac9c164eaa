"""Variables as `env` prints them, or as a shell's text sets them.

Pure functions of text. May import: probes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from probes.tool_text import clean

_PRINTED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_SHELL = re.compile(r"^[ \t]*(?:(?:export|declare|unset)[ \t]|#|\w+=([\"']).*\1[ \t]*$)", re.MULTILINE)
"""A line that only a shell's text has, a value in quotes among them."""
_PART = r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*\""""
_WORD = re.compile(rf"""#.*|[;&|]+|(?:[^\s;&|'"\\#]|{_PART})(?:[^\s;&|'"\\]|{_PART})*""")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SETS = ("export", "declare", "typeset")


def parse(text: str) -> dict[str, str]:
    """Name -> value. What a shell would put in for `$NAME` is not known, so that such a variable is left out."""
    text = clean(text)
    if not _SHELL.search(text):
        return dict(_PRINTED.findall(text))
    found: dict[str, str] = {}
    for line in text.split("\n"):
        for words in _statements(line):
            _apply(words, found)
    return found


def _statements(line: str) -> Iterator[list[str]]:
    words: list[str] = []
    for word in _WORD.findall(line):
        if word.startswith("#"):
            break
        if word[0] in ";&|":
            yield words
            words = []
        else:
            words += shlex.split(word)
    yield words


def _apply(words: list[str], found: dict[str, str]) -> None:
    if words[:1] == ["unset"]:
        for name in words[1:]:
            found.pop(name, None)
        return
    if words and words[0] in _SETS:
        words = [word for word in words[1:] if not word.startswith("-")]
    for word in words:
        if not (match := _ASSIGNED.match(word)):
            return
        if "$" in match[2] or "`" in match[2]:
            found.pop(match[1], None)
        else:
            found[match[1]] = match[2]
