"""Watching the links of this host: when they are looked at, and what is told of them then and in the end.

What the kernel counts is looked at each interval, what vendors' tools tell whenever they have told it: one that hangs
holds nothing else up. May import: probes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from probes.endable import EndableHost
from probes.host import Host, LocalHost
from probes.traffic import Clock, Look
from probes.traffic.netdev import Interfaces
from probes.traffic.npu import Npus
from probes.traffic.nvlink import NvLinks
from probes.traffic.rdma import Ports
from probes.visit import Visit
from suites.asker import Asker
from suites.monitorrecord import findings, rates, silent, summary
from suites.report import Report, now, timestamp
from suites.traffic import Event, Watch

_MOST_EVENTS = 200
_PATIENCE_SECONDS = 60.0
"""The longest single wait; poll takes no more than some weeks."""

Wait = Callable[[float], bool]
"""Waits for some seconds, and returns whether to go on."""


class Source(Protocol):
    """What is looked at each interval."""

    def look(self) -> Look: ...


@dataclass(slots=True)
class Monitor:
    """A watch of `interval` seconds a sample, over `duration` seconds or until somebody ends it."""

    command: Sequence[str]
    interval: float
    duration: float | None
    host: str
    sources: Sequence[Source]
    asker: Asker
    clock: Clock = time.monotonic
    started: datetime = field(default_factory=now)
    watch: Watch = field(default_factory=Watch)
    events: list[Event] = field(default_factory=list)
    _unkept: int = 0
    _number: int = -1
    _began: float = 0.0
    _ended: float = 0.0

    def samples(self, wait: Wait) -> Iterator[dict[str, Any]]:
        """As JSON: one at the beginning, one each interval by the clock, however long looking takes, one at the end.
        `number` 0 is the beginning, without any rate; `late` the question to a tool that has been open for long."""
        self._began = due = self.clock()
        end = math.inf if self.duration is None else self._began + self.duration
        passed = 0
        while self._until(due, wait):
            yield self._sample()
            if due >= end:
                return
            passed = max(passed, int((self.clock() - self._began) / self.interval)) + 1
            due = min(self._began + passed * self.interval, end)

    def _until(self, due: float, wait: Wait) -> bool:
        while (left := due - self.clock()) > 0:
            if not wait(min(left, _PATIENCE_SECONDS)):
                return False
        return True

    def _sample(self) -> dict[str, Any]:
        self._number += 1
        looks = [*(source.look() for source in self.sources), *self.asker.collect()]
        self._ended = self.clock()
        events = tuple(event for look in looks for event in self.watch.take(look, self._ended))
        kept = events[: _MOST_EVENTS - len(self.events)]
        self.events += kept
        self._unkept += len(events) - len(kept)
        return self._line(events)

    def moment(self, seconds: float) -> str:
        """A time of the clock as the record has it."""
        return timestamp(self.started + timedelta(seconds=seconds - self._began))

    def _line(self, events: tuple[Event, ...]) -> dict[str, Any]:
        question = self.asker.late()
        late = self.watch.late(question)
        tallies = [tally for tally in self.watch.tallies.values() if tally.present]
        return {
            "kind": "sample",
            "number": self._number,
            "time": self.moment(self._ended),
            "seconds": self._ended - self._began,
            "links": [rates(tally, tally.link in late) for tally in tallies],
            "events": [self._event(event) for event in events],
            "late": question,
        }

    def report(self, exit_code: int) -> Report:
        """The record of all that was seen until now."""
        tallies = self.watch.tallies.values()
        report = Report("monitor", list(self.command), self.started, exit_code=exit_code)
        report.findings = [found for tally in tallies for found in findings(self.host, tally)]
        report.findings += silent(self.host, self.watch)
        report.body = {
            "host": self.host,
            "interval": self.interval,
            "seconds": self._ended - self._began,
            "samples": max(self._number, 0),
            "links": [summary(tally) for tally in tallies],
            "links_forgotten": self.watch.forgotten,
            "sources": [
                {"name": scope, "state": str(look.state), "reason": look.reason}
                for scope, look in self.watch.looks.items()
            ],
            "events": [self._event(event) for event in self.events],
            "events_left_out": self._unkept,
        }
        return report

    def _event(self, event: Event) -> dict[str, Any]:
        return {"time": self.moment(event.time), "change": str(event.change), "link": event.link}

    def close(self) -> None:
        self.asker.close()


def monitor(
    command: Sequence[str],
    interval: float,
    duration: float | None,
    *,
    host: Host | None = None,
    visit: Callable[[Host, Callable[[str], None]], Visit] = lambda host, tell: Visit(host, tell=tell),
) -> Monitor:
    """Watches this host. To be closed."""
    clock = time.monotonic
    endable = EndableHost(host or LocalHost())
    asker = Asker(endable.end, clock)
    asked = visit(endable, asker.hear)
    asker.start([Npus(asked, clock), NvLinks(asked, clock)])
    name = (endable.read("/proc/sys/kernel/hostname") or "").strip() or "unknown"
    return Monitor(command, interval, duration, name, [Interfaces(endable, clock), Ports(endable, clock)], asker, clock)
