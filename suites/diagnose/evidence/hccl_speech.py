"""Who says a line of CANN's logs, when, and in which communicators its process is.

A line of a plog: `[LEVEL] MODULE(pid,process):time [file:line] [thread]text` (CANN's log reference); blanks, the name
and the brackets may lack. Frameworks print a block: a line with process, device and rank, then the error by its code,
with `[PID: n] time` before or after the code.
May import: facts, line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import NOBODY, Fact, Seen, Who

UNNAMED = "HCCL communicator"
"""The group of ranks that are told without the name of their communicator."""
_NOBODY = 0xFFFF_FFFF
_BLOCK_LINES = 12
_MOST_SPEAKERS = 4096
_TIME = r"(?P<time>\d{4}-\d\d-\d\d[- ]\d\d:\d\d:\d\d(?:\.\d{1,6}){0,2})"
_RECORD = re.compile(r"\[[A-Z]{1,9}\]\s?[A-Z_]{2,20}\((?P<pid>\d{1,10}),[^)]{0,80}\):\s?" + _TIME)
_BLOCK = re.compile(_TIME + r"\s\(PID:(?P<pid>\d{1,10}), ?Device:(?P<device>-?\d{1,5}), ?RankID:(?P<rank>-?\d{1,10})\)")
_CODED = re.compile(r"\[PID: ?(?P<pid>\d{1,10})\]\s{0,4}" + _TIME)
_CODE = re.compile(r"\b[A-Z]{2}\d{4}\)?:")
_COMMUNICATOR = re.compile(
    r"(?P<name>hccl_world_group|group_name_\d{1,9}|[0-9a-fA-F.:]{2,45}%[\w.\-]{1,40}?_\d{1,6}_\d{1,6}_\d{6,20})"
    r"|^Hcom[A-Za-z]{1,40}_(?P<hash>\d{4,24})_\d"
)


@dataclass(slots=True)
class Process:
    """What its lines have said. `communicators`: name -> its rank there; `pointers`: address -> name."""

    communicators: dict[str, int | None] = field(default_factory=dict)
    pointers: dict[str, str] = field(default_factory=dict)
    last: str = UNNAMED
    """The communicator that it has begun to set up most recently."""


@dataclass(slots=True)
class Processes:
    """All that speak in one source."""

    known: dict[tuple[str | None, int | None, int | None], Process] = field(default_factory=dict)
    _blocks: dict[Who, tuple[int, Who]] = field(default_factory=dict)
    """By who is told around the lines, which ranks write by turns: the last block and where it begins."""
    _seen: set[Who] = field(default_factory=set)

    def of(self, line: Line) -> Process:
        who = line.who
        key = (who.host, who.pid, who.rank if who.pid is None else None)
        return self.known.setdefault(key, Process())

    def spoken(self, line: Line) -> Line:
        """The line with who and when, as it says itself."""
        text = line.text
        if found := _RECORD.search(text):
            return _with(line, Who(pid=int(found["pid"])), found["time"])
        if found := _BLOCK.search(text):
            device, rank = int(found["device"]), int(found["rank"])
            who = Who(
                pid=int(found["pid"]),
                rank=rank if 0 <= rank < _NOBODY else None,
                device=f"npu{device}" if device >= 0 else None,
            )
            if len(self._blocks) < _MOST_SPEAKERS:
                self._blocks[line.who] = (line.number, who)
            return _with(line, who, found["time"])
        if found := _CODED.search(text):
            return _with(line, Who(pid=int(found["pid"])), found["time"])
        number, who = self._blocks.get(line.who, (line.number, NOBODY))
        if who is not NOBODY and 0 <= line.number - number <= _BLOCK_LINES and _CODE.search(text):
            return replace(line, who=merged(line.who, who))
        return line

    def block_at(self, line: Line) -> Who | None:
        """Whose block begins with this line, as it stood before it was known who says it."""
        number, who = self._blocks.get(line.who, (-1, NOBODY))
        return who if number == line.number else None

    def first_words(self, line: Line) -> Iterable[Fact]:
        """That this process has been heard, once."""
        if line.who not in self._seen and len(self._seen) < _MOST_SPEAKERS and _RECORD.search(line.text):
            self._seen.add(line.who)
            yield Seen(line.place(), "HCCL log", line.who)


def _with(line: Line, who: Who, time: str) -> Line:
    return replace(line, who=merged(line.who, who), time=seconds(time) or line.time)


def seconds(text: str) -> float | None:
    """`2026-01-31-08:00:00.123.456` since 1970, by the clock of the host as if it showed UTC."""
    numbers = [int(part) for part in re.findall(r"\d{1,6}", text.partition(".")[0])]
    try:
        year, month, day, hour, minute, second = numbers
        whole = datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None  # not six numbers, no date, or no time of a day
    fraction = "".join(re.findall(r"\d", text.partition(".")[2]))
    return whole + (float(f"0.{fraction}") if fraction else 0.0)


def communicator_of(tag: str) -> str | None:
    """The name in a tag such as AllReduce_192.0.2.1%eth0_60000_0_1700000000000000."""
    found = _COMMUNICATOR.search(tag)
    return (found["name"] or found["hash"]) if found else None


def number(text: str | None) -> int | None:
    """A rank, unless it stands for nobody: all bits set, [local], [unknown]."""
    if not text or not text.isascii() or not text.isdigit():
        return None
    value = int(text[:10])
    return value if value < _NOBODY else None


def group_of(process: Process, tag: str = "", rank: int | None = None) -> str:
    """Which communicator a line is about: by its tag, by the only one in which the process has that rank, or the only
    one of the process."""
    if named := communicator_of(tag):
        return named
    fitting = [name for name, own in process.communicators.items() if rank is None or own == rank]
    return fitting[0] if len(fitting) == 1 else UNNAMED


def member(group: str, rank: int | None) -> Who:
    return Who(group=group, group_rank=rank)


def speaker(line: Line, group: str, rank: int | None) -> Who:
    """Who says the line, as a member of a group."""
    return replace(line.who, group=group, group_rank=rank) if rank is not None else line.who


def npu(server: str, device: str) -> Who:
    """As `[server/device]` names it."""
    return Who(host=server, device=f"npu{device}" if device.isdigit() else None)
