"""NCCL's log: every line goes, without its prefix, to readers of communicators and calls, of set-up, and of warnings.

May import: facts, line, known, and the readers of NCCL's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.nccl_calls import Communicators
from suites.diagnose.evidence.nccl_setup import Setup
from suites.diagnose.evidence.nccl_speaker import WAKES, speech
from suites.diagnose.evidence.nccl_texts import BY_SOURCE, HARMLESS, MENTIONS, ROWS
from suites.diagnose.facts import Fact, Place, Seen, Unread, Who

_MOST_UNKNOWN = 3


@dataclass(slots=True)
class NcclLog:
    """Of one source."""

    wakes: tuple[str, ...] = (*WAKES, " via NET/", "opCount ")
    awake: bool = False
    _communicators: Communicators = field(default_factory=Communicators)
    _setup: Setup = field(default_factory=Setup)
    _warned: KnownTexts = field(default_factory=lambda: KnownTexts(ROWS))
    _warned_by: Mapping[str, KnownTexts] = field(
        default_factory=lambda: {source: KnownTexts(rows) for source, rows in BY_SOURCE.items()}
    )
    _mentioned: KnownTexts = field(default_factory=lambda: KnownTexts(MENTIONS))
    _unknown: int = 0
    _heard: set[tuple[Who, bool]] = field(default_factory=set)

    def feed(self, line: Line) -> Iterable[Fact]:
        said = speech(line)
        told = said.line if said else line
        found = [*self._communicators.read(told), *self._setup.read(told, warns=said is not None and said.warns)]
        if said:
            # Evidence is the line as it stands, its prefix included.
            texts = self._warned_by.get(said.source, self._warned) if said.warns else self._mentioned
            found += [_at(fact, line.place()) for fact in texts.feed(told)]
            if said.warns and not found and not any(text in told.text for text in HARMLESS):
                found += self._not_understood(told)
            heard = told.who, "opCount " in line.text
            if heard not in self._heard:
                self._heard.add(heard)
                found += self._hear(told.who, line, verbose=heard[1])
        return found

    def end(self) -> Iterable[Fact]:
        yield from self._communicators.end()
        yield from self._setup.end()

    def _not_understood(self, line: Line) -> Iterable[Fact]:
        """A warning that nobody knows may be the cause: with it, a log does not show that nothing is wrong."""
        self._unknown += 1
        if self._unknown <= _MOST_UNKNOWN:
            yield Unread(line.file, f"a warning in line {line.number} that is not known here: {line.text[:200]}")

    def _hear(self, who: Who, line: Line, *, verbose: bool) -> Iterable[Fact]:
        """Whose log it is: once, and once more when it is found to tell of calls."""
        if who.host or who.pid:
            yield Seen(Place(line.file, line.number), "NCCL log", who, verbose=verbose)


def _at(fact: Fact, place: Place) -> Fact:
    return replace(fact, place=place)  # type: ignore[arg-type]
