"""What the kernel and the fabric manager have written that matters to communication.

Sources: `dmesg`, and the ends of the system's log files. Events of one kind about one device are counted together. A
log that may not be read leaves events unknown; that is never the same as none. May import: probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from probes.log.events import LogEvent, find, looks_like_log, merged
from probes.reading import Reading, Said, State, told
from probes.recorded.commandline import typed
from probes.visit import Query, Tool, Visit


@dataclass(frozen=True, slots=True)
class LogFacts:
    """`events` is None where no log could be read. `sources`: how the question for each log ended."""

    events: tuple[LogEvent, ...] | None
    sources: Mapping[str, Reading] = field(default_factory=dict)


DMESG = Tool("dmesg")
FILES: Mapping[str, str] = {
    "syslog": "/var/log/syslog",
    "messages": "/var/log/messages",
    "kern.log": "/var/log/kern.log",
    "fabric manager": "/var/log/fabricmanager.log",
}
_LONGEST = 1 << 20
"""Bytes of a file's end that are looked at."""


def read(visit: Visit) -> LogFacts:
    # -T and its like, with which it may have been recorded, change no more than the form of the time.
    words = next(iter(typed(visit.recorded(), DMESG.name)), [])
    readings = {"dmesg": visit.ask(DMESG, _KERNEL, words=words)}
    readings |= {name: _file(visit, path) for name, path in FILES.items() if visit.exists(path)}
    known = [reading for reading in readings.values() if reading.values]
    slim = {name: replace(reading, values={}, lines={}) for name, reading in readings.items()}
    if readings["dmesg"].state is State.ABSENT:
        slim.pop("dmesg")
    # The kernel's lines also stand in the files.
    events = merged(event for reading in known for event in reading.values["events"])
    return LogFacts(events if known else None, slim)


def parse(text: str) -> Said:
    """Events of a log, in the order in which they first happened; nothing where this is no log."""
    said = Said()
    events = find(text)
    if events or looks_like_log(text):
        said.value("events", events)
    return said


_KERNEL = Query("dmesg", "{words}", parse, seconds=15.0, quick=True)


def _file(visit: Visit, path: str) -> Reading:
    """A file may have any length, so that only its end is looked at."""
    text = visit.tail(path, _LONGEST)
    if text is None:
        return Reading(path, State.REFUSED, "it could not be read")
    said = parse(text)
    if not said:
        return Reading(path, State.FAILED, "it is empty" if not text.strip() else "it is no log")
    said.values["events"] = tuple(replace(event, source=path) for event in said.values["events"])
    return told(path, said)
