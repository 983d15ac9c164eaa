"""One look at a host: how the tools of vendors are asked.

They are asked one at a time on a host, also by several processes of opsdist, since some answer "busy" or wedge when
they are not (npu-smi's manual forbids it). Each question has a deadline. A tool that has hung is not asked again, so
that one wedged driver costs one deadline and not forty.
May import: probes.
"""

from __future__ import annotations

import fcntl
import math
import os
import re
import shlex
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from probes.command import MAY_NOT, Answer
from probes.host import Host, PassingHost
from probes.identities import found, hidden
from probes.reading import Reading, Said, State, told
from probes.tool_text import clean, lines

_TURN_SECONDS = 60.0
"""The longest wait for another opsdist on this host to have done with a tool."""
_TAKEN = f"another process has kept the tools of this host to itself for {_TURN_SECONDS:.0f} s and more"
_LOCK = "/"
"""A folder every process can open; a lock on it leaves nothing behind, however its holder ends."""
_MESSAGES = ((r"permission denied|operation not permitted", State.REFUSED),)
"""What any tool may say."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A vendor's program: where it may be when PATH does not have it, and which of its words mean that it told nothing.
    `messages` maps a pattern to the state and stands for what is no fault of the device."""

    name: str
    places: tuple[str, ...] = ()
    messages: tuple[tuple[str, State], ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A question: the words after the tool's name, with {placeholders} for devices, and the parser of its answer.
    `quick`: part of the first look, else only of a full one."""

    name: str
    words: str
    parse: Callable[[str], Said]
    seconds: float = 30.0
    quick: bool = False


def _nobody(line: str) -> None:
    pass


class Visit(PassingHost):
    """A host as it is asked on one occasion. `hurry`: only quick questions. `tell` hears of each before it is asked.
    `identities`: serial numbers and the like are shown. `seconds`: for all questions to tools together."""

    def __init__(
        self,
        host: Host,
        hurry: bool = False,
        tell: Callable[[str], None] = _nobody,
        identities: bool = False,
        seconds: float | None = None,
    ) -> None:
        super().__init__(host)
        self._hurry = hurry
        self._identities = identities
        self._tell = tell
        self._ends = math.inf if seconds is None else time.monotonic() + seconds
        self._hung: dict[str, str] = {}
        self._kept_out = False

    def ask(self, tool: Tool, query: Query, **which: object) -> Reading:
        """What a tool says. Good output counts, however the tool ended. A value of `which` that is a list stands for
        several words. Raises nothing."""
        words = shlex.split(query.words.format(**{name: _typed(value) for name, value in which.items()}))
        source = shlex.join([tool.name, *words])
        if self._hurry and not query.quick:
            return Reading(source, State.UNASKED, "not asked in a quick look")
        if tool.name in self._hung:
            return Reading(source, State.LATE, f"not asked: {self._hung[tool.name]}")
        query = replace(query, seconds=min(query.seconds, self._ends - time.monotonic()))
        if query.seconds <= 0:
            return Reading(source, State.UNASKED, "the time for looking was used up")
        with self._turn() as mine:
            if not mine:
                return Reading(source, State.TAKEN, _TAKEN)
            self._tell(source)
            answer = self._answer(tool, words, query.seconds)
        if answer is None:
            return Reading(source, State.ABSENT, f"there is no {tool.name} here")
        if answer.exit_code is None:
            self._hung[tool.name] = f"`{source}` had not ended after {query.seconds:.3g} s"
        reading = understood(tool, query, source, answer)
        if self._identities:
            return replace(reading, identities=found(answer.stdout))
        reason = None if reading.reason is None else hidden(reading.reason)
        return replace(reading, reason=reason, lines={name: hidden(line) for name, line in reading.lines.items()})

    def ask_all(self, tool: Tool, queries: Iterable[Query], **which: object) -> dict[str, Reading]:
        """By the query's name; none of those for which there is no tool here."""
        readings = {query.name: self.ask(tool, query, **which) for query in queries}
        return {name: reading for name, reading in readings.items() if reading.state is not State.ABSENT}

    def _answer(self, tool: Tool, words: Sequence[str], seconds: float) -> Answer | None:
        for program in (tool.name, *tool.places):
            if answer := self.run([program, *words], seconds):
                return answer
        return None

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        """Whether it is this process's turn to ask. Who has waited in vain once does not wait again."""
        try:
            descriptor = os.open(_LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            yield True
            return
        try:
            mine = _locked(descriptor, time.monotonic() + (0.0 if self._kept_out else _TURN_SECONDS))
            self._kept_out = not mine
            yield mine
        finally:
            os.close(descriptor)


def _typed(value: object) -> str:
    return shlex.join(map(str, value)) if isinstance(value, list | tuple) else shlex.quote(str(value))


def understood(tool: Tool, query: Query, source: str, answer: Answer) -> Reading:
    """An answer as a reading."""
    late = answer.exit_code is None
    # What a tool says of its end stands on the other stream, after what it had said before.
    said = query.parse(f"{answer.stdout}\n{answer.stderr}" if answer.exit_code else answer.stdout)
    if said:
        ends = [f"its output was cut after {len(answer.stdout)} characters"] if answer.cut else []
        ends += ["it did not end and was killed"] if late else []
        ends += [f"{_ended(answer.exit_code)} after that"] if answer.exit_code else []
        return replace(told(source, said, ", ".join(ends) or None), state=State.LATE if late else State.TOLD)
    if late:
        return Reading(source, State.LATE, f"no end after {query.seconds:.3g} s, it was killed")
    if answer.exit_code == MAY_NOT:
        return Reading(source, State.REFUSED, answer.stderr.strip()[:200] or "permission denied")
    words = clean(answer.stdout + "\n" + answer.stderr)
    for pattern, state in (*tool.messages, *_MESSAGES):
        if match := re.search(rf"^.*(?:{pattern}).*$", words, re.IGNORECASE | re.MULTILINE):
            return Reading(source, state, match[0].strip()[:200])
    first = next(iter(lines(words)), "it said nothing").strip()[:200]
    end = f" ({_ended(answer.exit_code)})" if answer.exit_code else ""
    return Reading(source, State.FAILED, _legible(first) + end)


def _ended(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _legible(words: str) -> str:
    """The words, unless they are no text."""
    strange = sum(not char.isprintable() or char == "\N{REPLACEMENT CHARACTER}" for char in words)
    return words if strange * 8 <= len(words) else "what it said is no text"


def _locked(descriptor: int, until: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)  # a lock that is waited for in the kernel has no deadline
        except OSError:  # a file system without locks
            return True
        else:
            return True
