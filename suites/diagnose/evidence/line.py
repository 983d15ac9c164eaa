"""A line of a log as line readers see it, and what such a reader is.

May import: facts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from suites.diagnose.facts import NOBODY, Fact, Place, Who

_LONGEST_TEXT = 400
"""Of a line that is kept as evidence."""


@dataclass(frozen=True, slots=True)
class Line:
    """Without its wrappers (prefixes of launchers and log collectors, colours), which said `who` and `time`."""

    text: str
    number: int
    file: str
    who: Who = NOBODY
    time: float | None = None

    def place(self, time: float | None = None) -> Place:
        """`time` where the text itself tells it."""
        return Place(self.file, self.number, self.text[:_LONGEST_TEXT].strip(), self.time if time is None else time)


class LineReader(Protocol):
    """Takes the lines of one source in order. State is kept by speaker, since logs of ranks are mixed."""

    wakes: tuple[str, ...]
    """A line that contains none of these does not concern it, unless it is awake."""
    awake: bool
    """It is within something of several lines, and wants all of them."""

    def feed(self, line: Line) -> Iterable[Fact]: ...

    def end(self) -> Iterable[Fact]:
        """The source has come to its end."""


def merged(known: Who, told: Who) -> Who:
    """What is known of somebody, completed by what is told; `told` wins where both say something."""
    if told == NOBODY:
        return known
    fields = {name: value for name in Who.__slots__ if (value := getattr(told, name)) is not None}
    return replace(known, **fields)
