"""Where each rank stands in each group: what it has begun, what of it came to its end, what is under way.

May import: facts, people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from suites.diagnose.facts import Call, Fact, Place, Seen, Signature, Track
from suites.diagnose.people import People

_LATEST = 32


@dataclass(slots=True)
class Standing:
    """Of one rank in one group. Numbers are of collectives, from whatever number its library counts."""

    person: int
    group: str
    place: Place
    enqueued: int | None = None
    completed: int | None = None
    pending: list[Call] = field(default_factory=list)
    """Collectives that have not come to their end, by number."""
    messages: list[Call] = field(default_factory=list)
    """Point-to-point calls that have not, in order."""
    ended_unknown: bool = False
    """Calls are told when they begin, never when they end."""
    history: dict[int, Signature] = field(default_factory=dict)
    exact: bool = False
    """See Track."""
    latest: list[Call] = field(default_factory=list)
    by_turns: bool = False
    """See Track."""
    counted: int | None = None
    """See Track."""
    begun: Mapping[tuple[int, bool], int] | None = None
    """See Track.messages."""
    cut: bool = False
    """See Track."""
    device: Literal["busy", "free"] | None = None
    """Whether its device is at any call, of whatever group, where that is told."""
    untold: bool = False
    """Nothing tells how far it has come: it may be through what others are in, or not have come to it."""

    @property
    def front(self) -> int | None:
        """The number of the call that it is in, or, where ends are not told, that it may be in."""
        if self.pending:
            return self.pending[0].seq
        return self.enqueued if self.ended_unknown else None

    def reached(self, seq: int) -> bool:
        """Whether it has begun call `seq`, or a later one."""
        if self.enqueued is not None:
            return self.enqueued >= seq
        return bool(self.history) and max(self.history) >= seq

    def passed(self, seq: int) -> bool:
        """Whether it is known to have call `seq` behind it."""
        if self.completed is not None and self.completed >= seq:
            return True
        front = self.front
        return front is not None and front > seq

    def call(self, seq: int) -> Call | None:
        return next((call for call in (*self.pending, *reversed(self.latest)) if call.seq == seq), None)

    def signature(self, seq: int) -> Signature | None:
        return self.history.get(seq)


Standings = Mapping[str, Mapping[int, Standing]]
"""By group, then by person."""


def standings(facts: Iterable[Fact], people: People) -> Standings:
    """From all that was recorded or logged. Of two recordings of one rank the one that has come further counts."""
    found: dict[str, dict[int, Standing]] = defaultdict(dict)
    calls: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, Track):
            person = people.number(fact.who, fact.place.file)
            if person is not None:
                _add_track(found[fact.group], person, fact)
        elif isinstance(fact, Call):
            person = people.number(fact.who, fact.place.file)
            if person is not None:
                calls[fact.group, person].append(fact)
    for (group, person), told in calls.items():
        _add_calls(found[group], person, group, told)
    messages: dict[str, list[Call]] = defaultdict(list)
    for (group, _), told in calls.items():
        messages[group] += [call for call in told if call.peer is not None]
    for group, of_group in found.items():
        _drop_met(of_group, people, messages[group])
        for standing in of_group.values():
            standing.pending.sort(key=lambda call: call.seq or 0)
    at_work = {
        person
        for table in found.values()
        for person, one in table.items()
        if any(call.running for call in (*one.pending, *one.messages))
    }
    for of_group in found.values():
        for person in of_group.keys() & at_work:
            of_group[person].device = "busy"
    busy = {person for table in found.values() for person, one in table.items() if one.pending or one.messages}
    for of_group in found.values():
        if any(one.by_turns or _in_messages(one) for one in of_group.values()):
            _without_numbers(list(of_group.values()), busy)
    return found


def _in_messages(standing: Standing) -> bool:
    return any(call.state == "pending" for call in standing.messages)


def _without_numbers(standings: Sequence[Standing], busy: Set[int]) -> None:
    """Of a group whose status counts messages and collectives by turns only what is recorded tells how far anybody has
    come. Who has recorded nothing of it has not come to what others are in where it is in nothing else, or where its
    last number is the one that all of them had last ended before.

    A number that may be of a collective is taken for one where more have such than are in one: it is few that hang."""
    recorded = {one.person: _recorded(one) for one in standings}
    last = max((max(of) for of in recorded.values() if of), default=0)
    through = [
        one for one in standings if not recorded[one.person] and not one.history and 0 < (one.completed or 0) <= last
    ]
    if len(through) <= sum(bool(one.pending) for one in standings):
        through.clear()
    before = {one.counted for one in standings if one.pending}
    if any(seq in before for seq in chain.from_iterable(recorded.values())):
        before.clear()  # that may be the number of what they are in
    for standing in standings:
        if standing not in through:
            mine = recorded[standing.person]
            at_last = standing.enqueued is not None and {standing.enqueued, standing.completed} == before
            over = max(standing.history, default=None) if not (standing.pending or standing.ended_unknown) else None
            standing.completed, standing.enqueued = over, max(mine, default=None)
            standing.untold = not mine and not standing.history and standing.person in busy and not at_last


def _recorded(standing: Standing) -> list[int]:
    """Numbers of collectives of one whose status tells nothing."""
    told = [standing.enqueued] if standing.by_turns and standing.enqueued is not None else []
    return [*(call.seq or 0 for call in standing.pending), *told]


def telling(facts: Iterable[Fact], people: People) -> set[int]:
    """Those whose evidence would tell of a call if they were in one: of them silence is evidence too."""
    return {
        number
        for fact in facts
        if isinstance(fact, Seen) and fact.verbose and (number := people.number(fact.who, fact.place.file)) is not None
    }


def _add_track(group: dict[int, Standing], person: int, track: Track) -> None:
    known = group.get(person)
    if known is not None and known.enqueued is not None and known.enqueued > (track.enqueued or 0):
        return
    fresh = Standing(person, track.group, track.place)
    if known is not None and known.place.file == track.place.file:
        fresh = known  # lines of one log that each tell a part
    fresh.enqueued, fresh.completed = _latest(fresh.enqueued, track.enqueued), _latest(fresh.completed, track.completed)
    fresh.pending += [call for call in track.pending if call.peer is None and call.seq is not None]
    fresh.messages += [call for call in track.pending if call.peer is not None]
    fresh.history.update(track.history)
    fresh.exact = fresh.exact or track.exact
    fresh.by_turns = fresh.by_turns or track.by_turns
    fresh.counted = track.counted
    fresh.cut = fresh.cut or track.cut
    fresh.begun = track.messages
    fresh.device = "free" if track.starts else fresh.device
    fresh.latest = [*fresh.latest, *track.latest][-_LATEST:]
    if fresh.pending and track.completed is None:
        last = max(call.seq or 0 for call in fresh.pending)
        fresh.enqueued = _latest(fresh.enqueued, last)
    group[person] = fresh


def _drop_met(of_group: Mapping[int, Standing], people: People, messages: Iterable[Call]) -> None:
    """A message of which only the beginning is told is under way where the other end has not come to it."""
    furthest: dict[tuple[int | None, int | None, bool], int] = {}
    for call in (*messages, *(call for standing in of_group.values() for call in standing.messages)):
        if call.peer is not None and call.seq is not None:
            end = people.number(call.who, call.place.file), people.number(call.peer), call.peer_sends
            furthest[end] = max(furthest.get(end, call.seq), call.seq)

    def is_met(call: Call, person: int) -> bool:
        other = people.number(call.peer) if call.peer is not None else None
        return call.seq is None or furthest.get((other, person, not call.peer_sends), call.seq - 1) >= call.seq

    for person, standing in of_group.items():
        standing.messages = [call for call in standing.messages if call.state != "entered" or not is_met(call, person)]


def _latest(one: int | None, other: int | None) -> int | None:
    return max((number for number in (one, other) if number is not None), default=None)


def _add_calls(group: dict[int, Standing], person: int, key: str, calls: Sequence[Call]) -> None:
    standing = group.setdefault(person, Standing(person, key, calls[0].place))
    numbered = _numbered([call for call in calls if call.peer is None])
    known = {call.seq for call in standing.pending}
    for call in numbered:
        assert call.seq is not None
        if call.state == "pending" and call.seq not in known:
            standing.pending.append(call)
            known.add(call.seq)
        standing.history.setdefault(call.seq, call.signature)
        standing.enqueued = _latest(standing.enqueued, call.seq)
        if call.state == "done":
            standing.completed = _latest(standing.completed, call.seq)
    if numbered and all(call.state == "entered" for call in numbered) and standing.completed is None:
        standing.ended_unknown = True
    standing.messages += [call for call in calls if call.peer is not None and call.state != "done"]
    standing.latest = [*standing.latest, *numbered][-_LATEST:]


def _numbered(calls: Sequence[Call]) -> list[Call]:
    """Each once; where numbers are not told, or all the same as some libraries have it, by their order."""
    seqs = {call.seq for call in calls}
    if None in seqs or seqs == {0}:
        if all(call.state == "pending" for call in calls):
            return [replace(calls[0], seq=0)]  # a watchdog of old, which repeats itself
        return [replace(call, seq=number) for number, call in enumerate(calls)]
    fresh: dict[int, Call] = {}
    for call in calls:
        assert call.seq is not None
        # What was entered may be said to be pending later, and to be done after that.
        fresh[call.seq] = call if call.seq not in fresh or call.state != "entered" else fresh[call.seq]
    return [fresh[seq] for seq in sorted(fresh)]
