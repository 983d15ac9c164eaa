"""What a host's own log says of a time at which the job was not there is not of the job.

A line counts as such only where that is sure: clocks may be in different zones, few lines of a job are timed, and a
job may have waited for long before it says a word.
May import: facts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from suites.diagnose.facts import OF_HOSTS, Call, Ended, Fact, Level, Place, Raised, Setting, Stamp, Track, Trouble

_NEAR = 3600.0
"""Seconds from a cause to what a job does at most: clocks that go wrong, a job that starts, and ranks that go on until
they need the one that failed."""
_FAR = 26 * 3600.0
"""Seconds from a cause to what complains of it at most, and between what clocks of different zones show at once."""
_DAY = 86400.0
_OLDEST = datetime(2010, 1, 1, tzinfo=UTC).timestamp()
"""Before it there were no such jobs: it is no date, but the time since the boot, or a clock that is not set."""
_MOST_NOTES = 2


@dataclass(frozen=True, slots=True)
class _Moment:
    """Of the job. `working`: it was doing its work then, so no more than _NEAR lies between it and a cause before it.
    `failing`: it was hanging, or breaking down."""

    stamp: Stamp
    working: bool = False
    failing: bool = False


def of_the_job(facts: Sequence[Fact]) -> tuple[Sequence[Fact], list[str]]:
    """The facts without what a host's own log says of other times, and notes of that, for people."""
    told = [fact for fact in facts if isinstance(fact, Trouble) and fact.known_as.startswith(OF_HOSTS)]
    if not told:
        return facts, []
    places = {_at(fact.place) for fact in told}
    own = [fact for fact in facts if (place := getattr(fact, "place", None)) is None or _at(place) not in places]
    span = _span(own)
    if span is None:
        return facts, []
    ages = {_at(fact.place): age for fact in told if (age := span.age(fact.place))}
    if not ages:
        return facts, []
    kept = [fact for fact in facts if (place := getattr(fact, "place", None)) is None or _at(place) not in ages]
    return kept, _notes([(fact, ages[_at(fact.place)]) for fact in told if _at(fact.place) in ages], span)


def _at(place: Place) -> tuple[str, int | None]:
    return place.file, place.line


@dataclass(frozen=True, slots=True)
class _Span:
    """From when to when a job was there. All times are of one year, or near to it, where no year is told."""

    base: Stamp
    first: tuple[float, float]
    """The earliest that a cause may be: of a zone that is not told, and of one that is."""
    start: tuple[float, float]
    """What the job's own evidence tells, likewise."""
    end: float | None
    """None: nothing tells that it was not there later."""

    def age(self, place: Place) -> float | None:
        """Seconds before the first sign of the job, negative after the last; None where it may be of its time."""
        stamp = _of(place)
        time = None if stamp is None or not _is_date(stamp) else self.time(stamp)
        if stamp is None or time is None:
            return None
        if time < self.first[stamp.zoned]:
            return self.start[stamp.zoned] - time
        return self.end - time if self.end is not None and time > self.end + _FAR else None

    def time(self, stamp: Stamp) -> float | None:
        return _near(stamp, self.base)


def _span(facts: Iterable[Fact]) -> _Span | None:
    moments = [moment for fact in facts for moment in _moments(fact) if _is_date(moment.stamp)]
    if not moments:
        return None
    base = next((moment.stamp for moment in moments if not moment.stamp.yearless), moments[0].stamp)
    timed = [(moment, time) for moment in moments if (time := _near(moment.stamp, base)) is not None]
    failing = any(moment.failing for moment in moments) and not any(map(_fails_some_time, facts))
    recorded = [time for moment, time in timed if moment.working and moment.stamp.zoned]
    first, last = min(time for _, time in timed), max(time for _, time in timed)
    return _Span(
        base, (_earliest(timed, math.inf), _earliest(timed, min(recorded, default=math.inf))),
        (first, min(recorded, default=first)), last if failing else None,
    )  # fmt: skip


def _earliest(timed: Iterable[tuple[_Moment, float]], start: float) -> float:
    """That a cause may be. `start`: when the job was first seen at work, by a clock that can be compared with."""
    return min([start - _NEAR, *(time - _FAR for moment, time in timed if _counts(moment, time, start))])


def _counts(moment: _Moment, time: float, start: float) -> bool:
    """A complaint says nothing of the time before the work: it is of later, or of a zone that makes it look earlier."""
    if moment.stamp.zoned or moment.working:
        return time < start
    return time + _FAR < start


def _fails_some_time(fact: Fact) -> bool:
    """Of the job's end, and it is not told when."""
    return _of_the_end(fact) and not list(_moments(fact))


def _of_the_end(fact: Fact) -> bool:
    if isinstance(fact, Call):
        return fact.state == "pending"
    return isinstance(fact, Raised | Ended) or (isinstance(fact, Trouble) and fact.level >= Level.TIMEOUT)


def _moments(fact: Fact) -> Iterator[_Moment]:
    place = getattr(fact, "place", None)
    if isinstance(place, Place) and (stamp := _of(place)) is not None:
        yield _Moment(stamp, isinstance(fact, Setting), _of_the_end(fact))
    if isinstance(fact, Call):
        yield from _of_calls([fact])
    if isinstance(fact, Track):
        yield from _of_calls([*fact.pending, *fact.latest])


def _of_calls(calls: Iterable[Call]) -> Iterator[_Moment]:
    """Recordings tell the time of calls in UTC, and have no lines."""
    for call in calls:
        zoned = call.place.line is None or (call.place.stamp is not None and call.place.stamp.zoned)
        if call.entered is not None:
            yield _Moment(Stamp(call.entered, zoned), True, call.state == "pending")
        if call.ended is not None:
            yield _Moment(Stamp(call.ended, zoned), True)


def _of(place: Place) -> Stamp | None:
    if place.time is None or (place.stamp is not None and not place.stamp.yearless):
        return place.stamp
    return Stamp(place.time)


def _is_date(stamp: Stamp) -> bool:
    return stamp.yearless or stamp.seconds >= _OLDEST


def _near(stamp: Stamp, base: Stamp) -> float | None:
    """Its time, in the year that brings it nearest to `base` where either has none; None where there is no such."""
    if not (stamp.yearless or base.yearless):
        return stamp.seconds
    date = datetime.fromtimestamp(stamp.seconds, UTC)
    year = datetime.fromtimestamp(base.seconds, UTC).year
    times = [time for one in (year - 1, year, year + 1) if (time := _in_year(date, one)) is not None]
    return min(times, key=lambda time: abs(time - base.seconds), default=None)


def _in_year(date: datetime, year: int) -> float | None:
    try:
        return date.replace(year=year).timestamp()
    except ValueError:
        return None  # of the 29th of February


def _notes(stale: Sequence[tuple[Trouble, float]], span: _Span) -> list[str]:
    """The latest of each kind and host."""
    counts = Counter((fact.what, fact.who.host) for fact, _ in stale)
    nearest = {(fact.what, fact.who.host): (fact, age) for fact, age in sorted(stale, key=lambda one: -abs(one[1]))}
    found = sorted(nearest.items(), key=lambda one: abs(one[1][1]))
    notes = []
    for key, (fact, age) in found[:_MOST_NOTES]:
        host = f" of {fact.who.host}" if fact.who.host else ""
        more = f", and {counts[key] - 1} more of its kind" if counts[key] > 1 else ""
        side = "older" if age > 0 else "later"
        notes.append(
            f"{_long(abs(age))} {side} than the job, and not taken for its cause: {fact.what}{host} at "
            f"{_date(fact.place, span)}{more} ({fact.place.file}:{fact.place.line})"
        )
    left = sum(counts[key] for key, _ in found[_MOST_NOTES:])
    return notes + ([f"{left} more lines of hosts' logs are of other times than the job"] if left else [])


def _date(place: Place, span: _Span) -> str:
    stamp = _of(place)
    time = span.time(stamp) if stamp else None
    if stamp is None or time is None:
        return "an unknown time"
    form = "%b %d %H:%M" if stamp.yearless else "%Y-%m-%d %H:%M"
    return datetime.fromtimestamp(time, UTC).strftime(form) + (" UTC" if stamp.zoned else "")


def _long(seconds: float) -> str:
    days = round(seconds / _DAY)
    return f"{days} days" if days > 1 else f"{seconds / 3600:.0f} hours"
