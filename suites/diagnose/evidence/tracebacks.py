"""Python's tracebacks and what C++ says when nobody catches an exception, in logs that mix those of several ranks.

Of exceptions that follow from each other the first is given, since it is why; of a group those that are in it.
May import: facts, line, records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.evidence.records import begins
from suites.diagnose.facts import NOBODY, Fact, Frame, Place, Raised, Who

_BEGINS = "Traceback (most recent call last):"
_OF_RANK = re.compile(r"\(RANK (?P<rank>\d{1,7})\)\s*$")
"""Of whom it is, where torch.distributed.checkpoint tells all ranks what some of them have raised."""
_OF_GROUP = "Exception Group Traceback"
_RANK = re.compile(
    r"(?<![a-z_])(?<!local[ -])(?<!node[ -])(?<!group[ -])rank[ :=_-]{0,3}(?P<rank>\d{1,7})\b", re.IGNORECASE
)
_LONGEST_PREFIX = 100
_MOST_PREFIXES = 256
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_BAR = re.compile(r"^\s*[+|][ -]?[+|-]*\s?")
_FRAME = re.compile(r'^\s{0,40}File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,9})(?:, in (?P<function>.{1,300}))?$')
_ERROR = re.compile(
    r"^(?P<error>(?:[A-Za-z_]\w{0,60}\.){0,12}[A-Z_]\w{0,100}|(?:[a-z_]\w{0,60}\.){1,12}(?:\w{0,60}error|timeout))"
    r"(?:: (?P<message>.*)|:?\s*)$"
)
"""Some modules of Python name theirs with small letters: `socket.gaierror`, `struct.error`."""
_GOES_ON = re.compile(r"^\s{0,40}(?:\| {1,40})?[A-Za-z\d'\"(]")
_LAUNCHER = re.compile(
    r"^(?:(?:srun|slurmstepd|mpirun|mpiexec|prterun|prte|pdsh@[\w.-]{1,99})\b|(?:flux-job|parallel|clush): |"
    r"\d{1,9}\.\d{3}s: (?:flux-shell|job\.)|\d{4}-\d\d-\d\d[T ]\d\d:|LAUNCH (?:INFO|ERROR) |Container rank |"
    r"Process \d{1,9} exit with |(?:INFO|WARNING|ERROR):root:)"
)
_THROWN = re.compile(r"terminate called after throwing an instance of '(?P<error>[^']{1,200})'")
_WHAT = re.compile(r"^\s{0,9}what\(\):\s{0,9}(?P<message>\S.*)")
_TOLD_BY_OTHERS = re.compile(
    r"watchdog|timed out|NCCL error|[NHX]CCL communicator|closed by remote peer|ERR\d{5}|\bE[A-Z]\d{4}\b", re.IGNORECASE
)
"""A thread repeats so what the libraries have said before."""
_MESSAGE = 2000
_MORE_LINES = 4
"""Of a message."""
_OTHER_LINES = 3
"""Of the same speaker, which stand within its traceback."""


@dataclass(slots=True)
class _Open:
    """A traceback whose exception has not been named, or not to its end."""

    of_group: bool
    follows: bool
    """From an exception that was given already."""
    of: Who = NOBODY
    """Who raised it, where that is another than who tells it."""
    frames: list[Frame] = field(default_factory=list)
    others: int = 0
    error: str = ""
    message: list[str] = field(default_factory=list)
    place: Place | None = None


@dataclass(slots=True)
class Tracebacks:
    """Kept apart by speaker. The line that names the exception is not indented, and its message may go on below."""

    wakes: tuple[str, ...] = (_BEGINS, *_CHAINED, "terminate called after", "what():")
    awake: bool = False
    _open: dict[Who, _Open] = field(default_factory=dict)
    _follows: set[Who] = field(default_factory=set)
    """Speakers whose next traceback is of what followed from the last."""
    _thrown: dict[Who, str] = field(default_factory=dict)
    _last: Who = NOBODY
    """Whose traceback began last. Some loggers put a prefix before the first of its lines only."""
    _prefixes: dict[str, Who] = field(default_factory=dict)
    """What others put before each line, in forms of their own, and whom it names."""
    _carried: set[Who] = field(default_factory=set)
    """Speakers of whom it is known to stand before each line: one without it is not theirs."""

    def feed(self, line: Line) -> Iterable[Fact]:
        yield from self._fed(self._unprefixed(line))
        self.awake = bool(self._open)

    def end(self) -> Iterable[Fact]:
        for speaker in list(self._open):
            yield from self._close(speaker)

    def _unprefixed(self, line: Line) -> Line:
        """Without what stood before the beginning of a traceback too."""
        at = line.text.find(_BEGINS)
        if at > 0:
            prefix = line.text[:at]
            if not prefix.strip() or _OF_GROUP in line.text or at > _LONGEST_PREFIX:
                return line
            if len(self._prefixes) < _MOST_PREFIXES:
                named = _RANK.search(prefix)
                rank = Who(rank=int(named["rank"])) if named and line.who.rank is None else NOBODY
                self._prefixes[prefix] = merged(line.who, rank)
                self._carried.discard(self._prefixes[prefix])
        for prefix, who in self._prefixes.items():
            if line.text.startswith(prefix) or line.text == prefix.rstrip():
                if at < 0:
                    self._carried.add(who)
                return replace(line, text=line.text[len(prefix) :], who=who)
        return line

    def _fed(self, line: Line) -> Iterable[Fact]:
        if any(words in line.text for words in _CHAINED):
            yield from self._close(line.who)
            self._follows.add(line.who)
        elif _BEGINS in line.text:
            yield from self._close(line.who)
            self._last = line.who
            told = _OF_RANK.search(line.text)
            of = Who(rank=int(told["rank"])) if told else NOBODY
            self._open[line.who] = _Open(_OF_GROUP in line.text, line.who in self._follows, of)
            self._follows.discard(line.who)
        elif found := _THROWN.search(line.text[:_MESSAGE]):
            yield from self._close(line.who)
            self._thrown[line.who] = found["error"]
        elif found := _WHAT.match(line.text[:_MESSAGE]):
            yield from self._close(line.who)
            error = self._thrown.pop(line.who, "std::exception")
            if not _TOLD_BY_OTHERS.search(found["message"]):
                yield Raised(line.who, line.place(), error, found["message"])
        else:
            unnamed = line.who == NOBODY and NOBODY not in self._open and self._last not in self._carried
            who = self._last if unnamed else line.who
            if (within := self._open.get(who)) is not None and not _goes_on(within, line):
                yield from self._close(who)

    def _close(self, speaker: Who) -> Iterable[Fact]:
        done = self._open.pop(speaker, None)
        if done is not None and done.place is not None and not done.of_group and not done.follows:
            if done.error.endswith(("ProcessRaisedException", "ProcessExitedException")):
                return  # of the parent: what its child has raised follows, or how it has ended is told
            message = "\n".join(done.message).strip()
            who = speaker if done.of == NOBODY else done.of
            yield Raised(who, done.place, done.error, message, tuple(reversed(done.frames)))


def _goes_on(within: _Open, line: Line) -> bool:
    """Whether the line still belongs to this traceback."""
    text = _BAR.sub("", line.text[:_MESSAGE], count=1)
    if within.place is not None:
        another = begins(line.text) or _LAUNCHER.match(text) or ("." in text and _ERROR.match(text))
        more = _GOES_ON.match(line.text) is not None and not another
        if more:
            within.message.append(text.strip())
        return more and len(within.message) <= _MORE_LINES
    if found := _FRAME.match(text):
        within.frames.append(Frame(found["function"] or "", found["file"], int(found["line"])))
    elif text and not text[0].isspace():
        if found := _ERROR.match(text):
            within.error, within.place = found["error"], line.place()
            within.message.append(found["message"] or "")
        else:
            within.others += 1
    return within.others <= _OTHER_LINES
