"""A line of a log as line readers see it, and what such a reader is.

May import: facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

from suites.diagnose.facts import NOBODY, Fact, Place, Stamp, Who

_LONGEST_TEXT = 400
"""Of a line that is kept as evidence."""
_GLOG = re.compile(r"\[?[IWEF](?P<month>\d{1,2})(?P<day>\d\d) (?P<time>\d\d:\d\d:\d\d)\.\d")
"""How a text begins in the layout of glog, as torch writes it: `[E424 01:11:21.160832730 `, `E0424 01:11:21.160 `."""


@dataclass(slots=True)
class Line:
    """Without its wrappers (prefixes of launchers and log collectors, colours), which said `who` and `time`.

    Nobody changes one; frozen, each of the many would take longer to make."""

    text: str
    number: int
    file: str
    who: Who = NOBODY
    time: float | None = None
    stamp: Stamp | None = None
    """As in a place."""

    def place(self, told: Stamp | None = None) -> Place:
        """`told` where the text itself tells the time."""
        time = self.time if told is None else None if told.yearless else told.seconds
        stamp = told or self.stamp or (_glog(self.text) if time is None else None)
        return Place(self.file, self.number, self.text[:_LONGEST_TEXT].strip(), time, stamp)


class LineReader(Protocol):
    """Takes the lines of one source in order. State is kept by speaker, since logs of ranks are mixed."""

    wakes: tuple[str, ...]
    """A line that contains none of these does not concern it, unless it is awake."""
    awake: bool
    """It is within something of several lines, and wants all of them."""

    def feed(self, line: Line) -> Iterable[Fact]: ...

    def end(self) -> Iterable[Fact]:
        """The source has come to its end."""


def yearless(text: str, form: str) -> Stamp | None:
    """A date without a year, in a form of `strptime` that begins behind the year."""
    try:
        return Stamp(datetime.strptime(f"2000 {text}", f"%Y {form}").replace(tzinfo=UTC).timestamp(), yearless=True)
    except ValueError:
        return None


def _glog(text: str) -> Stamp | None:
    found = _GLOG.match(text)
    return yearless(f"{found['month']} {found['day']} {found['time']}", "%m %d %H:%M:%S") if found else None


def merged(known: Who, told: Who) -> Who:
    """What is known of somebody, completed by what is told; `told` wins where both say something."""
    if known is NOBODY:
        return told
    return known if told == NOBODY else _completed(known, told)


@lru_cache(4096)
def _completed(known: Who, told: Who) -> Who:
    """A log has many lines of few speakers."""
    fields = {name: value for name in Who.__slots__ if (value := getattr(told, name)) is not None}
    return replace(known, **fields)
