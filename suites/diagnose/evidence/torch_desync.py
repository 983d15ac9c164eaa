"""The desync report of PyTorch (TORCH_NCCL_DESYNC_DEBUG): where each rank of a group stood when one of them timed out.

The text is that of torch/csrc/distributed/c10d/TraceUtils.h. Its ranks are those of the group, its numbers count from
1. It comes as several lines, below one that names the group.
May import: facts, line, operations, torch_speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.operations import operation
from suites.diagnose.evidence.torch_speaker import Speaker, speaker
from suites.diagnose.facts import NOBODY, Absent, Call, Fact, Group, Place, Signature, Track, Who

_RANKS = r"\[(?P<ranks>\d[\d, ]{0,60000})\]"
_TIMEOUT = re.compile(r"- \[(?P<rank>\d{1,7})\] Timeout at collective:\s{0,9}(?P<op>\w{1,40}), #(?P<seq>\d{1,18})")
_NEVER = re.compile(rf"ranks {_RANKS} are the lagging ranks that caused this timeout")
_LAGGING = re.compile(rf"{_RANKS} finished collective #\d{{1,18}}, but didn't join collective #(?P<seq>\d{{1,18}})")
_AT = re.compile(r"#(?P<seq>\d{1,18}) (?P<state>started|finished) ranks:")
_STANDING = re.compile(rf"{_RANKS} (?P<state>started|finished) (?P<op>\w{{1,40}})")
_LATER = ("To our best knowledge, ", "didn't join collective #", "Snapshot of ranks' latest states")
"""In lines of a report behind the first."""
_LONGEST = 256
"""Lines of a report."""
_NEAR = 3
"""Lines from the one that names the group to the report."""


@dataclass(slots=True)
class Desync:
    """Reads it."""

    wakes: tuple[str, ...] = (
        "[PG ",
        "Timeout at collective",
        "To our best knowledge",
        "didn't join collective",
        "ranks' latest",
    )
    awake: bool = False
    _speaker: Speaker = field(default_factory=lambda: Speaker(NOBODY))
    _named_at: int = -_NEAR - 1
    _began: int = 0
    """Where; 0 before the first."""
    _waiting: tuple[int, str] | None = None
    """Number and operation of the call that timed out."""
    _at: tuple[int, str] | None = None
    """Number, and whether it was started or finished, of the ranks that follow."""

    def feed(self, line: Line) -> Iterable[Fact]:
        said = speaker(line)
        if said.group is not None or said.group_rank is not None:
            self._speaker, self._named_at = said, line.number
        if found := _TIMEOUT.search(line.text):
            yield from self._timed_out(found, line)
        elif not self.awake and any(words in line.text for words in _LATER):
            self._cut_off_before(line)
        if not self._began or line.number - self._began > _LONGEST:
            self.awake = False
            return
        self.awake = True
        yield from self._report(line.text, line.place())

    def end(self) -> Iterable[Fact]:
        return ()

    def _cut_off_before(self, line: Line) -> None:
        """What timed out is not told: the line was left out, or stands before the beginning of the log."""
        if line.number - self._named_at > _NEAR:
            self._speaker = Speaker(line.who)
        self._began, self._at, self._waiting = line.number, None, None

    def _timed_out(self, found: re.Match[str], line: Line) -> Iterator[Fact]:
        rank = int(found["rank"])
        if line.number - self._named_at > _NEAR:
            self._speaker = Speaker(line.who)
        self._speaker = replace(self._speaker, group_rank=rank)
        self._began, self._at = line.number, None
        self._waiting = (int(found["seq"]), operation(found["op"]))
        yield self._speaker.fact(line.place())
        yield self._call(self._speaker.member, *self._waiting, line.place())

    def _report(self, text: str, place: Place) -> Iterator[Fact]:
        if found := _NEVER.search(text):
            yield from self._absent(found, self._waiting[0] if self._waiting else None, place)
        elif found := _LAGGING.search(text):
            yield from self._absent(found, int(found["seq"]), place)
        elif found := _AT.search(text):
            self._at = (int(found["seq"]), found["state"])
        elif (found := _STANDING.search(text)) and self._at and self._at[1] == found["state"]:
            yield from self._standing(found, self._at[0], place)

    def _absent(self, found: re.Match[str], seq: int | None, place: Place) -> Iterator[Fact]:
        op = self._waiting[1] if self._waiting and self._waiting[0] == seq else None
        absent = self._speaker.others(found["ranks"])
        yield self._group(absent, place)
        yield Absent(place, absent, (), self._speaker.key, seq, op, self._speaker.member)

    def _standing(self, found: re.Match[str], seq: int, place: Place) -> Iterator[Fact]:
        op, ranks = operation(found["op"]), self._speaker.others(found["ranks"])
        yield self._group(ranks, place)
        for who in ranks:
            if found["state"] == "started":
                yield self._call(who, seq, op, place)
            else:
                yield Track(who, place, self._speaker.key, seq, completed=seq, history=((seq, Signature(op)),))

    def _group(self, ranks: Iterable[Who], place: Place) -> Group:
        return self._speaker.fact(place, last=max(who.group_rank or 0 for who in ranks))

    def _call(self, who: Who, seq: int, op: str, place: Place) -> Call:
        return Call(who, place, self._speaker.key, seq, Signature(op), "pending")
