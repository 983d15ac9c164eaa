"""Where in the user's program the call stands that failed: the stack that torch's watchdogs print after it.

May import: facts, line, torch_speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.torch_speaker import speaker
from suites.diagnose.facts import Call

_FRAME = re.compile(
    r"^\s{0,9}#(?P<depth>\d{1,4}) (?P<function>\S{1,200}) from (?P<file>.{1,900}):(?P<line>\d{1,9})\s*$"
)
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/torch/distributed/", "<")
"""What the paths of no user's file contain."""
_MOST_LINES = 128


@dataclass(slots=True)
class FailedCall:
    """Keeps the last call of each rank, and gives it again with its frame."""

    reading: bool = False
    _last: dict[int | None, Call] = field(default_factory=dict)
    _whose: int | None = None
    _left: int = 0

    def feed(self, line: Line, calls: Sequence[Call]) -> Iterable[Call]:
        for call in calls:
            self._last[call.who.rank] = call
        if "Stack trace of the failed collective" in line.text:
            self._whose = speaker(line).who.rank
            self.reading, self._left = "not found" not in line.text and self._whose in self._last, _MOST_LINES
            return
        if not self.reading:
            return
        frame = _FRAME.match(line.text)
        self._left -= 1
        if self._left == 0 or (frame is not None and not any(part in frame["file"] for part in _LIBRARIES)):
            self.reading = False
            if frame is not None:
                place = f"{frame['file']}:{frame['line']} {frame['function']}"
                yield replace(self._last[self._whose], frame=place)
