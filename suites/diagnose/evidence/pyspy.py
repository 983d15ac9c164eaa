"""Stacks of living processes, as `py-spy dump` and Python's faulthandler print them.

May import: exits, facts, known, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from suites.diagnose.evidence.exits import SIGNALS
from suites.diagnose.evidence.known import people
from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import NOBODY, Ended, Fact, Frame, Place, Seen, Stack, Who

_SHELLS = re.compile(
    r"^(?:(?:\S{0,300}/)?python[\d.]{0,6} )?(?:\S{0,300}/)?(?:torchrun|deepspeed|accelerate|mpirun|mpiexec|srun)(?: |$)"
    r"| -m (?:torch\.distributed\.(?:run|launch)|accelerate\.commands\.launch|deepspeed\.launcher\.\w{1,20})\b"
    r"|multiprocessing\.(?:resource_tracker|forkserver|semaphore_tracker)\b"
)
"""Of the command of a process that is no rank, but starts or serves ranks."""
_MAIN = "MainThread"
_HEADER = re.compile(r"^=+ *pid (?P<pid>\d{1,9})(?: +rank (?P<rank>\d{1,9}))?\b")
_PROCESS = re.compile(r"^Process (?P<pid>\d{1,9}): (?P<command>.*)")
_PARENT = re.compile(r"^\s{0,20}Parent Process \d{1,9}: (?P<command>.*)")
_OWN_RANKS = (
    re.compile(r" --rank[ =](?P<rank>\d{1,9})\b"),
    # of one tensor parallel group, whose ranks are those of the world
    re.compile(r"\b(?:sglang::scheduler|VLLM::Worker)_TP(?P<rank>\d{1,9})\b"),
)
_FATAL = re.compile(r"^Fatal Python error: (?P<name>[A-Z][A-Za-z -]{1,60})")
_THREAD = re.compile(
    r"^Thread (?P<id>0x[0-9A-Fa-f]{1,16}|\d{1,20}) \((?P<state>idle|active|active\+gil|idle\+gil)\)"
    r'(?:: "(?P<name>[^"]{0,200})")?'
)
_FAULT = re.compile(r"^(?:Current thread|Thread) (?P<id>0x[0-9A-Fa-f]{1,16})[^(]{0,80}\(most recent call first\):")
_PY_SPY_FRAME = re.compile(r"^ {4}(?P<function>\S[^()]{0,300}) \((?P<file>[^()]{1,400}?)(?::(?P<line>\d{1,9}))?\)\s*$")
_FAULT_FRAME = re.compile(r'^  File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,9}) in (?P<function>.{1,300})$')
_LOCALS = re.compile(r"^ {6,}\S|^\s+Arguments:|^\s+Locals:")


def rank_of(command: str) -> Who:
    """What the command line of a process says of its rank."""
    found = next((found for pattern in _OWN_RANKS if (found := pattern.search(command))), None)
    return people(found) if found else NOBODY


def no_rank(command: str, parent: str | None = None) -> bool:
    """Whether a process only starts or serves ranks. One that has the command of its parent is forked, to load data."""
    return bool(_SHELLS.search(command)) or (bool(command) and command == parent)


@dataclass(slots=True)
class _Open:
    """A stack that is being read."""

    who: Who
    place: Place
    thread: str
    active: bool | None
    holds_gil: bool | None
    frames: list[Frame] = field(default_factory=list)


@dataclass(slots=True)
class Stacks:
    """Whose a stack is stands before it; what speaks for several ranks by turns is kept apart by speaker."""

    wakes: tuple[str, ...] = ("Process ", "Thread ", "thread 0x", "pid ", "Fatal Python error: ")
    awake: bool = False
    _owners: dict[Who, Who] = field(default_factory=dict)
    _open: dict[Who, _Open] = field(default_factory=dict)
    _seen: set[Who] = field(default_factory=set)
    _commands: dict[Who, str] = field(default_factory=dict)
    _passed: set[Who] = field(default_factory=set)
    """Speakers that have come to a process which is no rank."""

    def feed(self, line: Line) -> Iterable[Fact]:
        if found := _HEADER.match(line.text) or _PROCESS.match(line.text):
            yield from self._close(line.who)
            self._owner(line, found)
        elif found := _PARENT.match(line.text):
            self._pass(line.who, no_rank(self._commands.get(line.who, ""), found["command"]))
        elif found := _FATAL.match(line.text):
            if number := SIGNALS.get(found["name"].strip()):
                yield Ended(line.who, line.place(), signal=int(number))
        elif found := _THREAD.match(line.text) or _FAULT.match(line.text):
            yield from self._begin(line, found)
        elif line.who in self._open and not self._continue(line):
            yield from self._close(line.who)
        self.awake = bool(self._open)

    def end(self) -> Iterable[Fact]:
        for speaker in list(self._open):
            yield from self._close(speaker)

    def _owner(self, line: Line, found: re.Match[str]) -> None:
        command = found.groupdict().get("command") or ""
        self._commands[line.who] = command
        self._pass(line.who, no_rank(command))
        told = merged(people(found), rank_of(line.text))
        before = self._owners.get(line.who, NOBODY)
        # A header that people put above a dump and py-spy's own name the same process.
        self._owners[line.who] = merged(before, told) if before.pid == told.pid else told

    def _pass(self, speaker: Who, passed: bool) -> None:
        (self._passed.add if passed else self._passed.discard)(speaker)

    def _begin(self, line: Line, found: re.Match[str]) -> Iterable[Fact]:
        yield from self._close(line.who)
        if line.who in self._passed:
            return
        who = merged(line.who, self._owners.get(line.who, NOBODY))
        told = found.groupdict()
        state = told.get("state")
        self._open[line.who] = _Open(
            who, line.place(), told.get("name") or told["id"],
            state.startswith("active") if state else None, state.endswith("+gil") if state else None,
        )  # fmt: skip
        if who not in self._seen:
            self._seen.add(who)
            yield Seen(line.place(), "py-spy dump" if state else "faulthandler dump", who)

    def _continue(self, line: Line) -> bool:
        """Whether the line still belongs to the speaker's stack."""
        if found := _PY_SPY_FRAME.match(line.text) or _FAULT_FRAME.match(line.text):
            number = found["line"]
            frame = Frame(found["function"].strip(), found["file"], int(number) if number else None)
            self._open[line.who].frames.append(frame)
            return True
        return _LOCALS.match(line.text) is not None

    def _close(self, speaker: Who) -> Iterable[Fact]:
        if (done := self._open.pop(speaker, None)) and done.frames:
            # faulthandler gives numbers only; every other thread begins in a function of `threading`.
            main = done.active is None and done.frames[-1].function == "<module>"
            thread = _MAIN if main else done.thread
            yield Stack(done.who, done.place, thread, tuple(done.frames), done.active, done.holds_gil)
