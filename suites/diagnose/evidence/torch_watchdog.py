"""What the watchdogs of PyTorch's process groups say: the call that did not end in time, and how far its group came.

The texts are those of torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp from version 1.9 on, and of the back-ends that
were made after it (XCCL, torch_npu's HCCL). The line that tells the call names its group in few versions only; another
line of the same rank and number does, before or after it.
May import: facts, line, torch_frames, torch_speaker, torch_work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.torch_frames import FailedCall
from suites.diagnose.evidence.torch_speaker import WORLD, Speaker, speaker
from suites.diagnose.evidence.torch_work import Work, work
from suites.diagnose.facts import Call, Fact, Place, Signature, Track

_STATUS = re.compile(
    r"ast enqueued (?:\w{1,12} )?work:\s{0,9}(?P<enqueued>-?\d{1,20})"
    r"(?:, last started (?:\w{1,12} )?work:\s{0,9}-?\d{1,20})?"
    r"(?:, last completed (?:\w{1,12} )?work:\s{0,9}(?P<completed>-?\d{1,20}))?"
)
_AT = re.compile(r"\bat (?:\w{1,12} )?work(?: sequence id)?:\s{0,9}(?P<seq>\d{1,20})")
_LATE = ("Watchdog caught", "timed out in blocking wait")
_OWN_TIME_OUT = "due to a collective timeout from this local rank"
"""The signal to write a dump gives where the rank stands in the group of all, and no number of a call."""
_MOST_HELD = 4096
"""Calls whose group is not known yet."""

_Key = tuple[int | None, str | None, int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class _Held:
    """A call that was told without its group."""

    speaker: Speaker
    work: Work
    place: Place


@dataclass(slots=True)
class Watchdog:
    """Reads them."""

    wakes: tuple[str, ...] = (*_LATE, "ast enqueued ", "Stack trace of the failed collective")
    awake: bool = False
    _held: dict[_Key, _Held] = field(default_factory=dict)
    _groups: dict[_Key, Speaker] = field(default_factory=dict)
    _stated: dict[_Key, tuple[Speaker, int, Place]] = field(default_factory=dict)
    """Calls of which only the number was told."""
    _told: set[tuple[str, _Key]] = field(default_factory=set)
    _failed: FailedCall = field(default_factory=FailedCall)

    def feed(self, line: Line) -> Iterable[Fact]:
        facts = list(self._facts(line))
        facts += self._failed.feed(line, [fact for fact in facts if isinstance(fact, Call)])
        self.awake = self._failed.reading
        return facts

    def end(self) -> Iterable[Fact]:
        yield from self._release()
        for said, seq, place in self._stated.values():
            yield Call(said.member, place, said.key, seq, Signature("unknown"), "pending")

    def _facts(self, line: Line) -> Iterator[Fact]:
        said = speaker(line)
        if status := _STATUS.search(line.text):
            yield from self._status(said, status, line)
        if any(words in line.text for words in _LATE) and (told := work(line.text)) is not None:
            yield from self._call(said, told, line.place())

    def _status(self, said: Speaker, status: re.Match[str], line: Line) -> Iterator[Fact]:
        if said.group is None:
            return
        place = line.place()
        enqueued, completed = _number(status["enqueued"]), _number(status["completed"])
        if enqueued is None or (completed is not None and completed > enqueued):
            completed = None  # some versions print what was never set
        yield said.fact(place)
        yield Track(said.member, place, said.group, enqueued, completed=completed)
        if (seq := _oldest(line.text, enqueued, completed)) is not None:
            key = _key(said, seq)
            self._remember(key, said)
            if (held := self._held.pop(key, None)) is not None:
                yield from self._named(replace(said, who=held.speaker.who), key, held.work, held.place)
            elif (said.key, key) not in self._told and len(self._stated) < _MOST_HELD:
                self._stated[key] = (said, seq, place)

    def _call(self, said: Speaker, told: Work, place: Place) -> Iterator[Fact]:
        key = _key(said, told.seq)
        if said.group is None and (named := self._groups.get(key)) is not None:
            said = replace(named, who=named.who if said.who.rank is None else said.who)
        if said.group is not None:
            self._remember(key, said)
            self._held.pop(key, None)
            yield from self._named(said, key, told, place)
            return
        self._held.setdefault(key, _Held(said, told, place))
        if len(self._held) > _MOST_HELD:
            yield from self._release()

    def _remember(self, key: _Key, said: Speaker) -> None:
        if len(self._groups) < _MOST_HELD:
            self._groups[key] = said

    def _named(self, said: Speaker, key: _Key, told: Work, place: Place) -> Iterator[Fact]:
        if said.key == WORLD and said.group_rank is not None:
            said = replace(said, who=replace(said.who, rank=said.group_rank))
        self._stated.pop(key, None)
        first = (said.key, key) not in self._told
        if len(self._told) < _MOST_HELD:
            self._told.add((said.key, key))
        yield from told.facts(said, place, first)

    def _release(self) -> Iterator[Fact]:
        """Those whose group was never named."""
        held, self._held = self._held, {}
        for key, call in held.items():
            yield from self._named(call.speaker, key, call.work, call.place)


def _oldest(text: str, enqueued: int | None, completed: int | None) -> int | None:
    """The call that a rank is in, where the line tells it."""
    if at := _AT.search(text):
        return int(at["seq"])
    waits = _OWN_TIME_OUT in text and enqueued is not None and completed is not None and enqueued > completed
    return completed + 1 if waits and completed is not None else None


def _key(said: Speaker, seq: int | None) -> _Key:
    return (said.who.rank, said.who.host, said.who.pid, said.group_rank, seq)


def _number(text: str | None) -> int | None:
    """-1 is nothing yet, and calls are counted from 1."""
    if text is None:
        return None
    number = int(text)
    return max(number, 0) if number < 1 << 48 else None
