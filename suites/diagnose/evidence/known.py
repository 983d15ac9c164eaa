"""Texts that are known: what a line of a log means, as rows of literal tables, and the one reader of all of them.

May import: facts, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import NOBODY, Class, Fact, Level, Subject, Trouble, Who

About = Literal["speaker", "host", "device", "link", "peer", "both", "peer_host", "file", "nobody"]


@dataclass(frozen=True, slots=True)
class Known:
    """One text. Named groups of `pattern` say who it is about: rank, host, pid, device, local_rank, group, group_rank,
    address of the speaker, peer_rank, peer_host, ... of its peer, file, and the card that a link leads over."""

    name: str
    """Of the row, such as `nccl.shm_full`."""
    wakes: str
    """A piece of the text that is always there, as it stands."""
    pattern: str
    level: Level
    what: str
    """What it means; may name groups of the pattern in braces."""
    cause: Class | None = None
    about: About = "nobody"
    """Whom it proves to be at fault, if it is the first of all."""
    remedy: tuple[str, ...] = ()
    unless: str = ""
    """Not where the line contains this too."""


_NUMBERS = frozenset(("rank", "pid", "local_rank", "group_rank"))


def people(found: re.Match[str], prefix: str = "") -> Who:
    """Who the named groups of a match name."""
    told: dict[str, Any] = {}
    for name in Who.__slots__:
        value = found.groupdict().get(prefix + name)
        if value:
            told[name] = int(value) if name in _NUMBERS else value
    return Who(**told)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@dataclass(slots=True)
class KnownTexts:
    """Reads the rows of some tables. The first row of a table that fits a line is what it means."""

    rows: Sequence[Known]
    awake: bool = False
    wakes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.wakes = tuple(dict.fromkeys(row.wakes for row in self.rows))

    def feed(self, line: Line) -> Iterable[Fact]:
        for row in self.rows:
            if row.wakes not in line.text or (row.unless and row.unless in line.text):
                continue
            if found := _compiled(row.pattern).search(line.text):
                yield _trouble(row, line, found)
                return

    def end(self) -> Iterable[Fact]:
        return ()


def _trouble(row: Known, line: Line, found: re.Match[str]) -> Trouble:
    speaker, peer = merged(line.who, people(found)), people(found, "peer_")
    told = found.groupdict()
    words = {name: value or "?" for name, value in told.items()}
    about, remedy = tuple(_about(row.about, speaker, peer, told)), tuple(step.format(**words) for step in row.remedy)
    return Trouble(speaker, line.place(), row.level, row.what.format(**words), row.cause, about, remedy, row.name)


def _about(about: About, speaker: Who, peer: Who, told: Mapping[str, str | None]) -> Iterable[Subject]:
    match about:
        case "speaker":
            yield Subject("rank", speaker)
        case "host" if speaker.host or speaker.address:
            yield Subject("host", replace(speaker, rank=None, group_rank=None, pid=None, device=None, local_rank=None))
        case "host" if speaker != NOBODY:
            yield Subject("rank", speaker)
        case "device":
            yield Subject("device", speaker)
        case "link":
            yield Subject("link", speaker, peer, card=told.get("card"))
        case "peer":
            yield Subject("rank", peer)
        case "both":
            yield Subject("rank", speaker)
            yield Subject("rank", peer)
        case "peer_host":
            yield Subject("host", peer)
        case "file":
            yield Subject("file", file=told["file"] or "?")
