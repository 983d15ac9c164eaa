"""Lines of logs as events. Pure functions of text. May import: probes."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from probes.identities import hidden
from probes.log.patterns import PATTERNS, WORDS, Pattern
from probes.tool_text import lines

_LONGEST = 1000
"""Of a line; what stands behind is cut off."""
_SHOWN = 300
_MOST = 300
"""Kinds of events on devices that are kept apart; a log has a handful."""

_NONE = "-- No entries --"
_UNSEEN = re.compile(r"not seeing messages|insufficient permission", re.IGNORECASE)

_STAMPS = (
    re.compile(r"(?:<\d{1,3}>)?\[\s*(\d{1,10}\.\d{3,9})\]"),
    re.compile(r"\[([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\]"),
    re.compile(r"\[([A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d)\]"),
    re.compile(r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]{0,10}(?:Z|[+-]\d\d:?\d\d)?)"),
    re.compile(r"(?:<\d{1,3}>)?([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)(?= )"),
)
"""What a line of a log begins with: seconds since the boot, or a date in one of the usual forms."""
_FORMS = ("%a %b %d %H:%M:%S %Y", "%b %d %Y %H:%M:%S", "%Y %b %d %H:%M:%S")
_BOOT = "Linux version "
"""The first line of a kernel."""
_HOUR = 3600.0
_WRITER = re.compile(
    r"(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT[\d:]{8}[.\d]{0,10}(?:Z|[+-]\d\d:?\d\d)?)"
    r" [\w.-]{1,255} ([^\s:\[]{1,80})(?:\[\d{1,10}\])?: "
)
"""In the layout of syslog, which program has written a line."""
_BELIEVED = frozenset({
    "kernel", "NetworkManager", "systemd-networkd", "dhcpcd", "nv-fabricmanager", "nvidia-fabricmanager",
})  # fmt: skip
"""Another program only quotes what these write: a pattern to look for, or a command."""


@dataclass(frozen=True, slots=True)
class LogEvent:
    """`device`: a PCI address, an interface or what else the line names. `code`: the number of an Xid or the like.
    `first` and `last`: when, in the log's own words. `line`: the last of `count` of them, as it stands in `source`;
    what identifies a machine is hidden. `burst`: the most of them within an hour between two boots."""

    kind: str
    device: str | None
    code: int | None
    detail: str | None
    count: int
    first: str | None
    last: str | None
    line: str
    burst: int = 1
    source: str = "dmesg"


def find(text: str) -> tuple[LogEvent, ...]:
    """Folded by kind, device and code. One thing may be logged by several programs, in lines of different forms: it is
    counted as often as the form that is there most often."""
    forms: dict[tuple[int, str, str | None, int | None], LogEvent] = {}
    recent: dict[tuple[int, str, str | None, int | None], deque[tuple[int, float | None]]] = defaultdict(deque)
    for number, boot, event in _each(text):
        key = (number, event.kind, event.device, event.code)
        if known := forms.get(key):
            burst = max(known.burst, _within(recent[key], boot, event.last))
            forms[key] = replace(event, count=known.count + 1, first=known.first, burst=burst)
        elif len(forms) < _MOST:
            _within(recent[key], boot, event.last)
            forms[key] = event
    return merged(forms.values())


def _within(recent: deque[tuple[int, float | None]], boot: int, time: str | None) -> int:
    """How many there are in the hour up to this one, which is put with them. Without times: since the boot."""
    now = moment(time)
    recent.append((boot, now))
    while recent[0][0] != boot or not _is_near(recent[0][1], now):
        recent.popleft()
    return len(recent)


def _is_near(then: float | None, now: float | None) -> bool:
    return then is None or now is None or abs(now - then) <= _HOUR


def moment(time: str | None) -> float | None:
    """A time of a log in seconds, to be compared with others of the same log. One without a year is of a leap year."""
    if time is None:
        return None
    if re.fullmatch(r"\d{1,10}\.\d{1,9}", time):
        return float(time)
    for form in _FORMS:
        for written in (time, f"2000 {time}"):
            try:
                return datetime.strptime(written, form).replace(tzinfo=UTC).timestamp()
            except ValueError:
                continue
    try:
        return datetime.fromisoformat(time.replace(",", ".")).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def merged(events: Iterable[LogEvent]) -> tuple[LogEvent, ...]:
    """Of those that tell of the same, the one that counts most."""
    best: dict[tuple[str, str | None, int | None], LogEvent] = {}
    for event in events:
        key = (event.kind, event.device, event.code)
        known = best.get(key, event)
        more = event if event.count > known.count else known
        best[key] = replace(more, burst=max(event.burst, known.burst))
    return tuple(best.values())


def looks_like_log(text: str) -> bool:
    """Whether any line begins with a time, or journalctl says that it read the log and found it empty, and not that it
    may not see all of it."""
    if _NONE in text and not _UNSEEN.search(text):
        return True
    return any(stamp(line) for line in lines(text)[:200])


def stamp(line: str) -> str | None:
    return next((match[1].strip() for pattern in _STAMPS if (match := pattern.match(line))), None)


def _each(text: str) -> Iterator[tuple[int, int, LogEvent]]:
    """(pattern, how many boots came before, event)."""
    boot = 0
    for line in lines(text):
        line = line[:_LONGEST].strip()
        if (_BOOT in line or any(word in line for word in WORDS)) and _is_believed(line):
            boot += _BOOT in line
            yield from ((number, boot, event) for number, event in _event(line))


def _is_believed(line: str) -> bool:
    writer = _WRITER.match(line)
    return writer is None or writer[1] in _BELIEVED


def _event(line: str) -> Iterator[tuple[int, LogEvent]]:
    """The first pattern that fits counts."""
    for number, pattern in enumerate(PATTERNS):
        if match := pattern.matches(line):
            yield number, _of(pattern, match, line)
            return


def _of(pattern: Pattern, match: re.Match[str], line: str) -> LogEvent:
    found = match.groupdict()
    code = found.get("code")
    time = stamp(line)
    return LogEvent(
        kind=pattern.kind,
        device=_device(found.get("device")),
        code=int(code) if code else None,
        detail=hidden(found["detail"].strip()) or None if found.get("detail") else None,
        count=1,
        first=time,
        last=time,
        line=hidden(line)[:_SHOWN],
    )


def _device(text: str | None) -> str | None:
    """A PCI address in one form: the driver of NVIDIA leaves out the function, its fabric manager writes a longer
    domain."""
    match = re.fullmatch(r"(?:0000)?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2})(\.[0-7])?", (text or "").lower())
    return match[1] + (match[2] or ".0") if match else text
