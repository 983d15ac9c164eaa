"""CANN keeps the plogs of all processes that it ever served in one folder: those of earlier jobs are not of this one.

May import: facts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from suites.diagnose.facts import Fact, Place

_PLOG = re.compile(r"(?:^|/)plog-\d{1,10}_\d{1,20}\.log")
_APART = 26 * 3600.0
"""Seconds: no collective waits for so long for a rank that has ended, and clocks of all zones are that near."""


def without_old_logs(facts: Sequence[Fact]) -> tuple[Sequence[Fact], list[str]]:
    """The facts without plogs that end long before all other ones begin, and a note of that, for people. Where anything
    else is of the time of such plogs, it is not told which of them are the job's."""
    times = _times(facts)
    plogs = {file: span for file, span in times.items() if _PLOG.search(file)}
    start = max((last for _, last in plogs.values()), default=0.0)
    old: set[str] = set()
    for file, (first, last) in sorted(plogs.items(), key=lambda one: -one[1][1]):
        if old or last < start - _APART:
            old.add(file)
        else:
            start = min(start, first)
    if not old or any(last < start - _APART for file, (_, last) in times.items() if file not in plogs):
        return facts, []
    kept = [fact for fact in facts if (place := getattr(fact, "place", None)) is None or place.file not in old]
    return kept, [f"{len(old)} plogs end more than a day before the others begin: they are taken for other jobs'"]


def _times(facts: Sequence[Fact]) -> Mapping[str, tuple[float, float]]:
    """Of the first and the last line of each file that tells one."""
    found: dict[str, tuple[float, float]] = {}
    for fact in facts:
        place = getattr(fact, "place", None)
        if isinstance(place, Place) and place.time is not None:
            first, last = found.get(place.file, (place.time, place.time))
            found[place.file] = min(first, place.time), max(last, place.time)
    return found
