"""Who waits for whom, by what was recorded and by what is said.

The rule: a rank whose oldest call of a group that has not ended is number s waits for every member that has not begun
s, or is still in an earlier one. That is looked at in every group at once, so a chain leads from group to group.
May import: calls, facts, failures, graph, people, standing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from suites.diagnose.calls import SYNCHRONISING
from suites.diagnose.facts import Absent, Call, Fact, Level, Moving, Track, Trouble, Waiting, Who
from suites.diagnose.failures import left_by_failure
from suites.diagnose.graph import Wait
from suites.diagnose.people import UNNAMED, WORLD, People
from suites.diagnose.standing import Standing, Standings

MISSED = "a watcher misses it"
"""Why somebody is waited for, where one who sees all tells that it is not there."""
PASSED_OR_NOT = "has not come to the other end"
"""Why somebody is waited for in a message. It may have come and gone before: what is over need not be recorded."""
ASIDE = "may be held up before it"
"""Why, where the other end is begun, and before it another message of another pair: those have streams of their own."""


@dataclass(slots=True)
class Waits:
    """`sure` are for those whose evidence says that they are not there; `unseen` for those without evidence;
    `glimpsed` for those who were not there in one look at a job that may be moving."""

    sure: list[Wait] = field(default_factory=list)
    unseen: list[Wait] = field(default_factory=list)
    glimpsed: list[Wait] = field(default_factory=list)
    failed: frozenset[int] = frozenset()
    """They may have left their last call because it failed."""
    alone: frozenset[int] = frozenset()
    """They do not come out of a call that all others of its group may leave, as all have been in it; or their device is
    at nothing, and others' are at a call that they are in."""

    @property
    def waiters(self) -> set[int]:
        return {waiter for wait in (*self.sure, *self.unseen) for waiter in wait.waiters}


def waits(facts: Sequence[Fact], people: People, table: Standings, telling: Set[int]) -> Waits:
    """Of collectives, messages, and what ranks and watchers say."""
    found = Waits()
    moving = {people.number(fact.who) for fact in facts if isinstance(fact, Moving)}
    for group, standings in table.items():
        if group == UNNAMED and WORLD in table:
            continue  # of those whose other lines tell the group these are lost: they may be of any
        _of_collectives(group, standings, people, telling, moving, found)
    _of_messages(table, people, telling, moving, found)
    _of_failures(facts, people, table, telling, found)
    came: dict[Hashable, set[int]] = defaultdict(set)
    for fact in facts:
        if isinstance(fact, Waiting):
            _said(fact, people, table, telling, found)
        elif isinstance(fact, Absent) and not fact.absent:
            came[fact.group, fact.seq, fact.op] |= _numbers(fact.present, people)
    _watched([fact for fact in facts if isinstance(fact, Absent)], people, came, found)
    halted = {people.number(fact.who, fact.place.file) for fact in facts if isinstance(fact, Trouble) and _halts(fact)}
    found.alone |= _left_alone(facts, table, people)
    halted |= found.alone
    for kind in (found.sure, found.unseen, found.glimpsed):
        kind[:] = [replace(wait, waiters=left) for wait in kind if (left := wait.waiters - halted)]
    return found


def _halts(fact: Trouble) -> bool:
    """Whether its own process does not go on: then it waits for nobody, whatever it is in."""
    return fact.level == Level.INITIATING and fact.cause == "stuck"


def _left_alone(facts: Iterable[Fact], table: Standings, people: People) -> frozenset[int]:
    """Those who do not come out of a call that nobody comes out of before all are in, or of a message, and that others
    are through.

    Their device is stuck in it, or they recorded nothing more: what else they seem to be in may be over as well, and
    whom they wait for there is not told. Where a call that failed is told as ended, others may be through by that; and
    of what was looked at the moment that something happened, it may be but a moment."""
    recorded = {fact.group for fact in facts if isinstance(fact, Track)}
    loose = {fact.group for fact in facts if isinstance(fact, Track) and (fact.failures_end or fact.instant)}
    told = recorded - loose - {UNNAMED}
    return frozenset(
        person
        for group, person, call in behind(table, people)
        if group in told and (call.peer is not None or call.signature.op in SYNCHRONISING)
    )


def behind(table: Standings, people: People) -> Iterator[tuple[str, int, Call]]:
    """Who is in a call that another one of the group is through: group, person and call. Of messages those that it
    sends, or is in before anything else: a sender may be through what its peer has not got to."""
    oldest = blockers(table)
    for group, standings in table.items():
        for person, standing in standings.items():
            call = standing.pending[0] if standing.pending else None
            if call is not None and any(other.passed(call.seq or 0) for other in standings.values()):
                yield group, person, call
            for call in standing.messages:
                if call.signature.op == "send" or oldest.get(person) is call:
                    batch = (one for one in standing.messages if _together(one, call))
                    if all(_is_over_there(one, person, standings, people) for one in batch):
                        yield group, person, call


def members(group: str, people: People, standings: Mapping[int, Standing]) -> tuple[int, ...]:
    """Those known to be; where that is not told, those that were seen in it."""
    known = people.members(group)
    return known if known else tuple(sorted(standings))


def _of_collectives(
    group: str,
    standings: Mapping[int, Standing],
    people: People,
    telling: Set[int],
    moving: Set[int | None],
    found: Waits,
) -> None:
    by_front = _fronts(standings)
    if group == UNNAMED and by_front and max(by_front) - min(by_front) > 1:
        return  # these may be calls of groups that count apart
    everybody = members(group, people, standings)
    for seq, present in by_front.items():
        # Whose device is at another call waits there. Whose is at none, while others' are at this one, does not come.
        at_it = {one for one in present if standings[one].pending and standings[one].pending[0].running}
        elsewhere = {one for one in present - at_it if standings[one].device == "busy"}
        idle = {one for one in present - moving if at_it and standings[one].device == "free"}
        waiters, late = present - elsewhere - idle, elsewhere | idle if at_it else set()
        found.alone |= idle
        if not waiters:
            continue
        op = _operation(standings, present, seq)
        passed = {person for person, standing in standings.items() if standing.passed(seq)}
        unseen: set[int] = set()
        for person in everybody:
            if person in present or person in passed or person in moving:
                continue
            mine = standings.get(person)
            if mine is not None and mine.front is None and mine.reached(seq):
                continue  # it has begun it, and nothing of it is under way: it is through, or may be
            told = person in telling and (mine is None or not mine.untold)
            (late if told else unseen).add(person)
        if passed and op in SYNCHRONISING:
            unseen.clear()  # some are through, so all have been there
        if late:
            found.sure.append(Wait(frozenset(waiters), frozenset(late), group, seq, op, "has not come to it"))
        if unseen:
            found.unseen.append(Wait(frozenset(waiters), frozenset(unseen), group, seq, op, "no evidence from it"))


def _of_failures(facts: Sequence[Fact], people: People, table: Standings, telling: Set[int], found: Waits) -> None:
    """Where failed calls are told as ended, and members of groups are not told at all, any rank of which there is no
    evidence may be why: for who may have left a failed call, and who is in a call that others come out of alone."""
    left = left_by_failure(facts, people, telling)
    found.failed = frozenset(left)
    silent = frozenset(n for n, person in enumerate(people.persons) if person.rank is not None) - telling
    if not silent:
        return
    for person, call in left.items():
        why = "its call may have failed there"
        found.unseen.append(Wait(frozenset((person,)), silent, call.group, call.seq, call.signature.op, why))
    for group in {fact.group for fact in facts if isinstance(fact, Track) and fact.failures_end}:
        for seq, waiters in _fronts(table.get(group, {})).items() if people.members(group) is None else ():
            op = _operation(table[group], waiters, seq)
            if not (op in SYNCHRONISING and any(standing.passed(seq) for standing in table[group].values())):
                found.unseen.append(Wait(frozenset(waiters), silent, group, seq, op, "may be of its group"))


def _fronts(standings: Mapping[int, Standing]) -> dict[int, set[int]]:
    """Who is in which call first."""
    found: dict[int, set[int]] = defaultdict(set)
    for person, standing in standings.items():
        if standing.front is not None:
            found[standing.front].add(person)
    return found


def _operation(standings: Mapping[int, Standing], waiters: Iterable[int], seq: int) -> str | None:
    for person in sorted(waiters):
        if signature := standings[person].signature(seq):
            return signature.op
        if call := standings[person].call(seq):
            return call.signature.op
    return None


def blockers(table: Standings) -> dict[int, Call]:
    """The oldest call of each rank that has not ended, in whatever group, where times are told; where it is told, of
    those that its device is at."""
    oldest: dict[int, Call] = {}
    for standings in table.values():
        for person, standing in standings.items():
            for call in (*standing.pending[:1], *standing.messages):
                known = oldest.get(person)
                if known is None or _began(call) < _began(known):
                    oldest[person] = call
    return oldest


def _began(call: Call) -> tuple[bool, float]:
    return not call.running, float("inf") if call.entered is None else call.entered


def _of_messages(table: Standings, people: People, telling: Set[int], moving: Set[int | None], found: Waits) -> None:
    """A rank that is in a message before anything else waits for the other end, unless that is there too."""
    oldest = blockers(table)
    for group, standings in table.items():
        for person, standing in standings.items():
            first = oldest.get(person)
            for call in (one for one in standing.messages if one.running or (first and _together(one, first))):
                peer = people.number(call.peer) if call.peer is not None else None
                if peer is None or peer == person or peer in moving or _is_over_there(call, person, standings, people):
                    continue
                begun = _begun(call, person, standings, people)
                answer = _answer(call, person, standings, people) if begun is not False else None
                head = oldest.get(peer)
                if answer is not None and call.running and standings[peer].device == "free":
                    found.alone |= {peer}
                elif answer is not None and (answer.running or head is None or _together(head, answer)):
                    continue
                why = "is held up before it"
                if answer is None:
                    why = "has not come to this one" if begun is False else PASSED_OR_NOT
                elif head is not None and _aside(head, answer):
                    why = ASIDE
                where = found.sure if peer in telling or answer is not None else found.unseen
                where.append(Wait(frozenset((person,)), frozenset((peer,)), group, call.seq, call.signature.op, why))


def met(table: Standings, people: People) -> Iterator[tuple[Call, frozenset[int]]]:
    """Messages that both ends are in before anything else, and the two."""
    oldest = blockers(table)
    for person, first in oldest.items():
        for call in (one for one in table[first.group][person].messages if _together(one, first)):
            peer = people.number(call.peer) if call.peer is not None else None
            answer = _answer(call, person, table[call.group], people)
            if answer is not None and peer in oldest and _together(oldest[peer], answer):
                yield call, frozenset((person, peer))


def _aside(head: Call, answer: Call) -> bool:
    """Whether both are messages, of different pairs or groups."""
    return head.peer is not None and (head.group, head.peer) != (answer.group, answer.peer)


def _together(one: Call, other: Call) -> bool:
    """Whether they are the same, or were handed over at once."""
    return one is other or (one.batch is not None and (one.group, one.batch) == (other.group, other.batch))


def _is_over_there(call: Call, person: int, standings: Mapping[int, Standing], people: People) -> bool:
    """Whether the other end was begun, and is not under way any more."""
    return bool(_begun(call, person, standings, people)) and _answer(call, person, standings, people) is None


def _answer(call: Call, person: int, standings: Mapping[int, Standing], people: People) -> Call | None:
    """The other end of a message, where it was begun."""
    other = _other(call, standings, people)
    for candidate in other.messages if other else ():
        same = None in (candidate.nth, call.nth) or candidate.nth == call.nth
        other_way = candidate.peer_sends != call.peer_sends
        if same and other_way and candidate.peer and people.number(candidate.peer) == person:
            return candidate
    return None


def _other(call: Call, standings: Mapping[int, Standing], people: People) -> Standing | None:
    number = people.number(call.peer) if call.peer is not None else None
    return standings.get(number) if number is not None else None


def _begun(call: Call, person: int, standings: Mapping[int, Standing], people: People) -> bool | None:
    """Whether the other end was begun, where all messages of both are recorded."""
    other, everybody = _other(call, standings, people), people.members(call.group) or ()
    if call.nth is None or other is None or other.begun is None or person not in everybody:
        return None
    return other.begun.get((everybody.index(person), not call.peer_sends), 0) >= call.nth


def order_waits(table: Standings, people: People) -> list[Wait]:
    """Where all have begun a call, but some have begun another one before it that is not over: they come to it only
    after that. Two groups entered in opposite order show so."""
    oldest = blockers(table)
    found = []
    for group, standings in table.items():
        by_seq: dict[int, set[int]] = defaultdict(set)
        for person, standing in standings.items():
            for call in standing.pending:
                by_seq[call.seq or 0].add(person)
        for seq, present in by_seq.items():
            at_it = {person for person in present if (mine := oldest.get(person)) and _is(mine, group, seq)}
            others = present - at_it
            if at_it and others:
                op = _operation(standings, present, seq)
                found.append(Wait(frozenset(at_it), frozenset(others), group, seq, op, "is in an earlier call"))
    return found


def _is(call: Call, group: str, seq: int) -> bool:
    return call.group == group and call.peer is None and call.seq == seq


def _said(fact: Waiting, people: People, table: Standings, telling: Set[int], found: Waits) -> None:
    """Nobody waits for who is through that call by its own words: what it gave has not arrived, or was not taken."""
    waiter = people.number(fact.who, fact.place.file)
    through = {n for n, one in table.get(fact.group or "", {}).items() if fact.seq is not None and one.passed(fact.seq)}
    on = {number for who in fact.on if (number := people.number(who)) is not None} - {waiter} - through
    if waiter is None or not on:
        return
    for some, where in ((on & telling, found.sure), (on - telling, found.unseen)):
        if some:
            where.append(
                Wait(frozenset((waiter,)), frozenset(some), fact.group, fact.seq, fact.op, "says so", fact.either)
            )


def _watched(facts: Iterable[Absent], people: People, came: Mapping[Hashable, Set[int]], found: Waits) -> None:
    """A look at what may be moving counts when another one, at another time, has shown the same."""
    looks: dict[Wait, set[tuple[str, int | None]]] = defaultdict(set)
    furthest: dict[tuple[str | None, str | None], int] = {}
    for fact in facts:
        wait = _missed(fact, people, came.get((fact.group, fact.seq, fact.op), set()))
        if wait is not None and fact.sure:
            found.sure.append(wait)
        elif wait is not None:
            looks[wait].add((fact.place.file, fact.place.line))
            kind = wait.group, wait.op
            furthest[kind] = max(furthest.get(kind, 0), wait.seq or 0)
    for wait, places in looks.items():
        if (wait.seq or 0) == furthest[wait.group, wait.op]:  # who was missed before has come since
            (found.sure if len(places) > 1 else found.glimpsed).append(wait)


def _missed(fact: Absent, people: People, came: Set[int]) -> Wait | None:
    """Who says itself that it was there is not to be called missing: one of the two is wrong."""
    absent = _numbers(fact.absent, people)
    present = _numbers(fact.present, people)
    if not present and fact.group:
        present = set(people.members(fact.group) or ())
    if not present:
        present = set(range(len(people.persons)))
    present -= absent
    absent -= came
    if not absent or not present:
        return None
    return Wait(frozenset(present), frozenset(absent), fact.group, fact.seq, fact.op, MISSED)


def _numbers(some: Iterable[Who], people: People) -> set[int]:
    return {number for who in some if (number := people.number(who)) is not None}
