"""Reads the logs of CANN and HCCL, and the errors of theirs that frameworks print.

May import: facts, known, line, hccl_*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from suites.diagnose.evidence import hccl_calls, hccl_heartbeat, hccl_init, hccl_tables, hccl_texts
from suites.diagnose.evidence.hccl_calls import Calls
from suites.diagnose.evidence.hccl_heartbeat import Heartbeat
from suites.diagnose.evidence.hccl_links import Links
from suites.diagnose.evidence.hccl_speech import Processes
from suites.diagnose.evidence.hccl_tasks import Tasks
from suites.diagnose.evidence.known import KnownTexts
from suites.diagnose.evidence.line import Line
from suites.diagnose.facts import Fact, Level, Trouble

Handler = Callable[[Line, Processes], Iterable[Fact]]
_RECORDS = ("HCCL(", "HCCP(", "RUNTIME(", "ROCE(")


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


class HcclLog:
    """Gives each line to the rows of known texts, and to those that know its marker."""

    def __init__(self) -> None:
        self.awake = False
        self._processes = Processes()
        self._texts = KnownTexts(hccl_texts.ROWS), KnownTexts(hccl_tables.ROWS)
        links, tasks, calls, heartbeat, dispatch = Links(), Tasks(), Calls(), Heartbeat(), Dispatch()
        self._keeping = (links, tasks, dispatch)
        self._handlers: Sequence[tuple[str, Handler]] = (
            *hccl_init.HANDLERS, *hccl_calls.HANDLERS, *hccl_heartbeat.HANDLERS,
            ("client", links.row), ("server", links.row), ("createLink para", links.create),
            ("fails to connect to dstRank", links.probed), ("connect server[", links.unreached),
            ("connected num is", links.counted), ("need connect rankNum", links.counted),
            ("connected rankinfo[", links.reported), ("Failed to connect agent", links.agents),
            ("rankList for enabled tls", links.tls),
            ("EI0002", tasks.coded), ("EI0012", tasks.coded), ("Task run failed", tasks.part),
            ("Entry-Hccl", calls.entry),
            ("rank [", heartbeat.event), ("Cluster Exception Location", heartbeat.event),
            ("dispatch timeout", dispatch.late), ("dispatch success", dispatch.came),
        )  # fmt: skip
        weak = ("client", "server", "rank [", " ERR", "parameter", "identifier[")
        markers = [marker for marker, _ in self._handlers if marker not in weak]
        wakes = [wake for texts in self._texts for wake in texts.wakes]
        self.wakes = tuple(dict.fromkeys((*_RECORDS, "RankID:", "parameter [", *wakes, *markers)))

    def feed(self, line: Line) -> Iterable[Fact]:
        line = self._processes.spoken(line)
        yield from self._processes.first_words(line)
        for texts in self._texts:
            yield from texts.feed(line)
        for marker, handle in self._handlers:
            if marker in line.text:
                yield from handle(line, self._processes)

    def end(self) -> Iterable[Fact]:
        for keeping in self._keeping:
            yield from keeping.end(self._processes)
