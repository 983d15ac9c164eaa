"""Who may have left its last call because that failed: gloo's recordings tell of a failed call only that it is over.

A call fails for all of its group when one of them dies, and whoever dies leaves no recording. So where nobody of a
group has gone on after a call that somebody left last of all, it may have failed: not to have come to the next one is
then nothing against who left it.
May import: facts, people, standing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set

from suites.diagnose.facts import Call, Fact, Track
from suites.diagnose.people import People
from suites.diagnose.standing import Standings


def left_by_failure(facts: Sequence[Fact], people: People, telling: Set[int]) -> dict[int, Call]:
    """Those who may have, each with that call."""
    tracks: dict[int, list[Track]] = defaultdict(list)
    groups: dict[str, set[int]] = defaultdict(set)
    for fact in facts:
        if isinstance(fact, Track) and (number := people.number(fact.who, fact.place.file)) is not None:
            tracks[number].append(fact)
            groups[fact.group].add(number)
    if not any(track.failures_end for of in tracks.values() for track in of):
        return {}
    under_way = {person: [call for track in of for call in track.pending] for person, of in tracks.items()}
    last = {person: _last(of) for person, of in tracks.items()}

    def gone_on(person: int, call: Call) -> bool:
        latest = last[person]
        if latest is not None and _same(latest, call):
            return False
        return not any(one.group == call.group and (one.seq or 0) <= (call.seq or 0) for one in under_way[person])

    found: dict[int, Call] = {}
    for person, of in tracks.items():
        # Calls may have been begun together and waited for later, so any group's last one may be why.
        for call in (track.latest[-1] for track in of if track.latest and not under_way[person]):
            others = groups[call.group] - {person}
            if not all_heard(call.group, people, telling) and not any(gone_on(other, call) for other in others):
                found[person] = call
    return found


def has_gone_on(person: int, group: str, seq: int, table: Standings, together: Set[tuple[str, int | None]]) -> bool:
    """Whether it has begun anything after that call, but for calls that may have been begun together with it."""
    begun = [
        call
        for standings in table.values()
        if (standing := standings.get(person)) is not None
        for call in (*standing.latest, *standing.pending)
        if call.entered is not None
    ]
    since = next((call.entered for call in begun if (call.group, call.seq) == (group, seq)), None)
    if since is None:
        return True  # it was so long ago that it is not among the last ones
    return any((call.entered or 0.0) > since and (call.group, call.seq) not in together for call in begun)


def _last(tracks: Sequence[Track]) -> Call | None:
    calls = [call for track in tracks for call in (*track.latest, *track.pending) if call.entered is not None]
    return max(calls, key=lambda call: call.entered or 0.0, default=None)


def _same(one: Call, other: Call) -> bool:
    return (one.group, one.seq) == (other.group, other.seq)


def all_heard(group: str, people: People, telling: Set[int]) -> bool:
    """All members are known, and there is evidence of each: then none of them has died."""
    return people.counted(group) and set(people.members(group) or ()) <= telling
