"""Python's tracebacks, in logs that mix those of several ranks.

May import: facts, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Fact, Frame, Raised, Who

_BEGINS = "Traceback (most recent call last):"
_GROUP_BAR = re.compile(r"^\s*[+|][ -]?[+|-]*\s?")
_FRAME = re.compile(r'^\s{0,40}File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,9})(?:, in (?P<function>.{1,300}))?$')
_ERROR = re.compile(r"^(?P<error>[A-Za-z_][\w.]{0,200})(?:: (?P<message>.*))?$")
_MESSAGE = 2000


@dataclass(slots=True)
class Tracebacks:
    """Frames are gathered by speaker until the line that names the exception, which is not indented."""

    wakes: tuple[str, ...] = (_BEGINS,)
    awake: bool = False
    _frames: dict[Who, list[Frame]] = field(default_factory=dict)

    def feed(self, line: Line) -> Iterable[Fact]:
        if _BEGINS in line.text:
            self._frames[line.who] = []
        elif line.who in self._frames:
            yield from self._within(line)
        self.awake = bool(self._frames)

    def end(self) -> Iterable[Fact]:
        return ()

    def _within(self, line: Line) -> Iterable[Fact]:
        text = _GROUP_BAR.sub("", line.text[:_MESSAGE], count=1)
        if found := _FRAME.match(text):
            self._frames[line.who].append(Frame(found["function"] or "", found["file"], int(found["line"])))
        elif text and not text[0].isspace():
            frames = tuple(reversed(self._frames.pop(line.who)))
            if found := _ERROR.match(text):
                yield Raised(line.who, line.place(), found["error"], found["message"] or "", frames)


def reader() -> Tracebacks:
    """A new one."""
    return Tracebacks()
