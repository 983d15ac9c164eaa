"""NCCL's own words, quoted by others without its prefix: by nccl-tests, in PyTorch's errors below "Last error:", and
in XLA's.

    node01: Test NCCL failure common.cu:1012 'unhandled system error / Call to posix_fallocate failed : No space left'

The forms are those of NCCLCHECK in src/common.h of nccl-tests, and of getNcclErrorDetailStr in PyTorch's NCCLUtils.cpp.
May import: facts, known, line, nccl_texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.known import KnownTexts, people
from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.evidence.nccl_texts import ROWS
from suites.diagnose.facts import Fact, Who

# Host and colon look like a launcher's label, and may have been taken off as one.
_TEST = re.compile(
    r"(?:(?P<host>(?<![\w.-])[\w.-]{1,255}): )?"
    r"\bTest [NR]CCL failure \S{1,300}:\d{1,6} '[^'/]{0,200} / (?P<words>.{1,400})'"
)
_LAST = "Last error:"
_OF_XLA = re.compile(r"NCCL operation .{1,300} failed: .{1,300}log entry \(may be unrelated\) '(?P<words>.{1,400})'")
"""How XLA tells it. Where what failed was a call to the system or to CUDA, the last warning is of that."""


@dataclass(slots=True)
class Quoted:
    """Of one source."""

    wakes: tuple[str, ...] = ("CCL failure ", _LAST, "(may be unrelated)")
    awake: bool = False
    _texts: KnownTexts = field(default_factory=lambda: KnownTexts(ROWS))
    _announced: set[Who] = field(default_factory=set)
    """By whom: the next line of theirs is NCCL's."""

    def feed(self, line: Line) -> Iterable[Fact]:
        if found := _TEST.search(line.text):
            yield from self._meant(found["words"], replace(line, who=merged(line.who, people(found))))
        elif found := _OF_XLA.search(line.text):
            yield from self._meant(found["words"], line)
        elif _LAST in line.text:
            words = line.text.partition(_LAST)[2].strip()
            if words:
                yield from self._meant(words, line)
            else:
                self._announced.add(line.who)
        elif line.who in self._announced and line.text.strip():
            self._announced.discard(line.who)
            yield from self._meant(line.text, line)
        self.awake = bool(self._announced)

    def _meant(self, words: str, line: Line) -> Iterable[Fact]:
        for fact in self._texts.feed(replace(line, text=words)):
            yield replace(fact, place=line.place())  # type: ignore[arg-type]

    def end(self) -> Iterable[Fact]:
        return ()
