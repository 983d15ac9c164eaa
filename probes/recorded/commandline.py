"""Command lines as keys: the same question is found again, however it was typed when it was recorded.

`/usr/local/bin/npu-smi info -i 0 -c 0 -t health | grep x` and `npu-smi info -t health -i 0 -c 0` are one question.
Pure functions of text. May import: the standard library.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

_PROMPT = re.compile(r"^\s*(?:\([\w.-]+\)\s*)?(?:(?P<place>\[[^\]]*\]|[\w.-]+@[^\s#$]+)\s*)?(?P<end>[#$>])(?:\s+|$)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_BEFORE = frozenset({"sudo", "timeout", "env", "time", "nohup"})
"""Programs that run the one that follows."""
_OWN_CHOICE = re.compile(r"(--query-[a-z-]+)=.*")
"""Which fields are asked for, which the answer repeats in its first line."""


def words_of(line: str) -> list[str]:
    """A typed line as words: without a prompt, what follows a pipe, and what only runs the program, as `sudo -n` and
    `LC_ALL=C` do; the program without its folder."""
    text = _PROMPT.sub("", line).split("|")[0].strip()
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    words = _run(words)
    return [posixpath.basename(words[0]), *words[1:]] if words else []


def prompt_of(line: str) -> str | None:
    """`@` for a prompt that names the user and the host, else the sign that it ends with; None where there is none."""
    match = _PROMPT.match(line)
    return match and ("@" if "@" in (match["place"] or "") else match["end"])


def key(words: Sequence[str]) -> str:
    """The program, then its words in an order of their own, each option together with its value."""
    if not words:
        return ""
    return " ".join([posixpath.basename(words[0]), *sorted(_options(words[1:]))])


def looser(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Questions that have the same answer: the chip of a card that has but one need not be named."""
    if "-c" in words:
        place = words.index("-c")
        if list(words[place + 1 : place + 2]) == ["0"]:
            yield [*words[:place], *words[place + 2 :]]


def typed(recorded: Iterable[str] | None, program: str) -> list[list[str]]:
    """The words after a program's name in each of the lines that were recorded of it; none of a living host."""
    lines = (words_of(line) for line in recorded or ())
    return [words[1:] for words in lines if words[:1] == [program]]


def _run(words: list[str]) -> list[str]:
    """What is run in the end. `env` alone is a command of its own."""
    rest = words
    while rest:
        if _ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        elif posixpath.basename(rest[0]) in _BEFORE:
            rest = rest[1:]
            while rest and (rest[0].startswith("-") or _DURATION.fullmatch(rest[0])):
                rest = rest[2 if rest[0] in ("-u", "-s", "-k") else 1 :]
        else:
            break
    return rest or words


def _options(words: Sequence[str]) -> Iterator[str]:
    option = ""
    for word in words:
        if word.startswith("-"):
            if option:
                yield option
            option = _OWN_CHOICE.sub(r"\1", word)
        elif option:
            yield f"{option} {word}"
            option = ""
        else:
            yield word
    if option:
        yield option
