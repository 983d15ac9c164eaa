"""Reads the logs of CANN and HCCL, and the errors of theirs that frameworks print.

May import: facts, known, line, acl_texts, hccl_*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence import acl_texts, hccl_calls, hccl_heartbeat, hccl_init, hccl_tables, hccl_texts
from suites.diagnose.evidence.hccl_calls import Calls
from suites.diagnose.evidence.hccl_links import Links
from suites.diagnose.evidence.hccl_speech import Processes
from suites.diagnose.evidence.hccl_tasks import Tasks
from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.facts import Fact, Group, Identity, Level, Seen, Setting, Trouble, Who

Handler = Callable[[Line, Processes], Iterable[Fact]]
_RECORDS = ("HCCL(", "HCCP(", "RUNTIME(", "ROCE(", "ASCENDCL(", "TDT(", "DRV(")
_ERROR = re.compile(rf"\[ERROR\] ?(?:{'|'.join(map(re.escape, _RECORDS))})")


@dataclass(slots=True)
class Dispatch:
    """torch_npu warns of a late dispatch, and takes it back when it came after all."""

    _late: list[Line] = field(default_factory=list)

    def late(self, line: Line, processes: Processes) -> Iterable[Fact]:
        if len(self._late) < 1024:
            self._late.append(line)
        return ()

    def came(self, line: Line, processes: Processes) -> Iterable[Fact]:
        self._late = [late for late in self._late if late.who != line.who]
        return ()

    def end(self, processes: Processes) -> Iterable[Fact]:
        for line in self._late:
            what = "a collective was not handed to the NPU in time"
            yield Trouble(line.who, line.place(), Level.TIMEOUT, what, known_as="torch_npu.dispatch")
        self._late.clear()


@dataclass(slots=True)
class Failed:
    """torch_npu's exception says whose it is only in the line after it, which is of the same message."""

    _texts: KnownTexts = field(default_factory=lambda: KnownTexts(acl_texts.ROWS))
    _held: dict[Who, Line] = field(default_factory=dict)
    """By who is told around the line."""

    @property
    def wakes(self) -> tuple[str, ...]:
        return self._texts.wakes

    def feed(self, line: Line, processes: Processes) -> Iterable[Fact]:
        held = self._held.pop(line.who, None)
        if held is not None:
            whose = processes.block_at(line) if line.number == held.number + 1 else None
            yield from self._texts.feed(replace(held, who=merged(held.who, whose)) if whose else held)
        if not any(wake in line.text for wake in self._texts.wakes):
            return
        if len(self._held) < 1024:
            self._held[line.who] = line
        else:
            yield from self._texts.feed(line)

    def end(self, processes: Processes) -> Iterable[Fact]:
        for line in self._held.values():
            yield from self._texts.feed(line)
        self._held.clear()


@dataclass(slots=True)
class Unknown:
    """A process that tells of errors is not well, even where none of them is known."""

    _first: dict[Who, Line] = field(default_factory=dict)
    _known: set[Who] = field(default_factory=set)

    def feed(self, line: Line, known: bool) -> None:
        if known:
            self._known.add(line.who)
            self._first.pop(line.who, None)
        elif line.who not in self._known and len(self._first) < 1024 and _ERROR.match(line.text):
            self._first.setdefault(line.who, line)

    def end(self, processes: Processes) -> Iterable[Fact]:
        for line in self._first.values():
            what = "CANN tells of an error that is not known here, so its own words count"
            yield Trouble(line.who, line.place(), Level.CASCADE, what, known_as="hccl.unknown")
        self._first.clear()


class HcclLog:
    """Gives each line to the rows of known texts, and to those that know its marker."""

    def __init__(self) -> None:
        self.awake = False
        self._processes = Processes()
        self._texts = KnownTexts(hccl_texts.ROWS), KnownTexts(hccl_tables.ROWS)
        self._failed, self._unknown = Failed(), Unknown()
        links, tasks, calls, dispatch = Links(), Tasks(), Calls(), Dispatch()
        self._keeping = (links, tasks, dispatch, self._failed, self._unknown)
        self._handlers: Sequence[tuple[str, Handler]] = (
            *hccl_init.HANDLERS, *hccl_calls.HANDLERS, *hccl_heartbeat.HANDLERS,
            ("client", links.row), ("server", links.row), ("createLink para", links.create),
            ("fails to connect to dstRank", links.probed), ("connect server[", links.unreached),
            ("connected num is", links.counted), ("need connect rankNum", links.counted),
            ("connected rankinfo[", links.reported), ("Failed to connect agent", links.agents),
            ("rankList for enabled tls", links.tls),
            ("EI0002", tasks.coded), ("EI0012", tasks.coded), (" run failed, ", tasks.part),
            ("Entry-Hccl", calls.entry),
            ("dispatch timeout", dispatch.late), ("dispatch success", dispatch.came),
        )  # fmt: skip
        weak = ("client", "server", "rank [", " ERR", "parameter", "identifier[")
        markers = [marker for marker, _ in self._handlers if marker not in weak]
        wakes = [wake for texts in (*self._texts, self._failed) for wake in texts.wakes]
        self.wakes = tuple(dict.fromkeys((*_RECORDS, "RankID:", "parameter [", *wakes, *markers)))

    def feed(self, line: Line) -> Iterable[Fact]:
        around, line = line, self._processes.spoken(line)
        yield from self._failed.feed(around, self._processes)
        yield from self._processes.first_words(line)
        told = False
        for fact in self._told(line):
            told |= not isinstance(fact, Identity | Group | Setting | Seen)
            yield fact
        self._unknown.feed(line, told)

    def _told(self, line: Line) -> Iterable[Fact]:
        for texts in self._texts:
            yield from texts.feed(line)
        for marker, handle in self._handlers:
            if marker in line.text:
                yield from handle(line, self._processes)

    def end(self) -> Iterable[Fact]:
        for keeping in self._keeping:
            yield from keeping.end(self._processes)
