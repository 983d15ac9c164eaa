"""What PyTorch prints of errors of the device, with who says it: a watchdog tells its rank in its group.

May import: facts, known, line, torch_errors, torch_speaker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.torch_errors import DEVICE
from suites.diagnose.evidence.torch_speaker import speaker
from suites.diagnose.facts import Fact


@dataclass(slots=True)
class DeviceErrors:
    """Reads the rows."""

    wakes: tuple[str, ...] = tuple(dict.fromkeys(row.wakes for row in DEVICE))
    awake: bool = False
    _texts: KnownTexts = field(default_factory=lambda: KnownTexts(DEVICE))

    def feed(self, line: Line) -> Iterable[Fact]:
        said = speaker(line)
        if said.group_rank is None:
            yield from self._texts.feed(line if said.who == line.who else replace(line, who=said.who))
        elif told := list(self._texts.feed(replace(line, who=said.member))):
            yield said.fact(line.place())
            yield from told

    def end(self) -> Iterable[Fact]:
        return ()
