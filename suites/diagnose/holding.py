"""How ranks hold others up, and in which call: what judgements ask of a case.

May import: case, and what a case is made of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from suites.diagnose.case import Case
from suites.diagnose.facts import Absent, Call, Level, Place
from suites.diagnose.graph import Wait
from suites.diagnose.people import SPEAKERS
from suites.diagnose.standing import Standing
from suites.diagnose.verdict import At
from suites.diagnose.waits import behind, blockers, members


def how_held(case: Case, roots: frozenset[int], root: int) -> str:
    """How a rank that waits for nobody holds others up: by not being there, by not coming through a call that others
    are through, or, where all are in one call, not by itself: nor where it is in a message, as both ends then are."""
    if root in case.waits.alone:
        return "stuck"
    oldest = blockers(case.table).get(root)
    if oldest is not None and oldest.peer is not None:
        return "joined"
    calls = [table[root].pending[0] for table in case.table.values() if root in table and table[root].pending]
    if not calls:
        return (
            "joined"
            if any(_all_stay(case, roots, table) for table in case.table.values() if root in table)
            else "missing"
        )
    states = {_state(case, root, call) for call in ([oldest] if oldest in calls else calls)}
    return "stuck" if "stuck" in states else "joined"


def _all_stay(case: Case, roots: frozenset[int], table: Mapping[int, Standing]) -> bool:
    """Whether all of a group have come to one call of which it is not told whether it ended, and to nothing since."""
    group = next(iter(table.values())).group
    everybody_of = set(members(group, case.people, table))
    fronts = {table[person].front if person in table else None for person in everybody_of}
    unknown = all(standing.ended_unknown for standing in table.values())
    return unknown and len(everybody_of) > 1 and everybody_of <= roots and len(fronts) == 1


def _state(case: Case, root: int, call: Call) -> str:
    """Whether all members are in this call."""
    table = case.table[call.group]
    everybody_of = members(call.group, case.people, table)
    alone = any(table[other].passed(call.seq or 0) for other in everybody_of if other in table and other != root)
    fronts = {table[other].front if other in table else None for other in everybody_of}
    return "joined" if not alone and len(everybody_of) > 1 and fronts == {call.seq} else "stuck"


def own_call(case: Case, roots: frozenset[int]) -> At | None:
    """The oldest call that one of the roots is in and others are through; where none is, that one of them is in."""
    calls = [call for _, person, call in behind(case.table, case.people) if person in roots] or [
        call
        for table in case.table.values()
        for root in roots & table.keys()
        for call in (*table[root].pending[:1], *table[root].messages[:1])
    ]
    first = min(calls, key=lambda call: call.entered or 0.0, default=None)
    return At(first.group, first.seq, first.signature.op) if first else None


def decisive_call(case: Case, roots: frozenset[int], edges: Sequence[Wait]) -> At | None:
    """The call in which the roots are missed first: of those that somebody waits in, not only comes to later.

    Who waits in one call and is missed in another comes to that after it, and all make their calls in one order, so
    the first one is not that other: clocks are asked only where this leaves several.
    """
    direct = [wait for wait in edges if wait.waited & roots and wait.group is not None]
    direct = [wait for wait in direct if not any(other.waiters & wait.waited for other in direct)] or direct
    oldest = blockers(case.table)

    def began(wait: Wait) -> tuple[bool, float, int]:
        calls = [
            call
            for person in wait.waiters
            if (standing := case.table.get(wait.group or "", {}).get(person)) and (call := standing.call(wait.seq or 0))
        ]
        held = [call for call in calls if call in oldest.values()]
        times = [call.entered for call in held or calls if call.entered is not None]
        return not held, min(times, default=float("inf")), -len(wait.waiters)

    first = min(direct, key=began, default=None)
    return At(first.group, first.seq, first.op) if first and first.group is not None else None


def missed_at(case: Case, roots: frozenset[int]) -> Place | None:
    """Where it is told first that somebody misses them."""
    for fact in case.facts:
        if isinstance(fact, Absent) and roots & {case.people.number(who) for who in fact.absent}:
            return fact.place
    return None


def complaining(case: Case, *levels: Level) -> set[int]:
    return {c.person for c in case.complaints if c.person is not None and c.level in levels}


def common_call(case: Case) -> At | None:
    """The call that most are in."""
    best: tuple[int, At] | None = None
    for group, table in case.table.items():
        for person in table.values():
            if person.front is not None and person.pending:
                seq = person.front
                number = sum(other.front == seq for other in table.values())
                signature = person.signature(seq)
                if best is None or number > best[0]:
                    best = (number, At(group, seq, signature.op if signature else person.pending[0].signature.op))
    return best[1] if best else None


def may_be_another(case: Case, number: int) -> bool:
    """Of a rank that is known by its place in a group only: whether it may be one that was heard elsewhere."""
    person = case.people.persons[number]
    heard = (case.people.persons[other] for other in case.telling)
    return person.rank is None and any(not person.group_ranks.keys() & other.group_ranks.keys() for other in heard)


def shared_logs(case: Case, waiting: Set[int]) -> frozenset[str]:
    """Logs in which several of those who wait tell of it."""
    by_file: dict[str, set[int]] = defaultdict(set)
    for table in case.table.values():
        for person, standing in table.items():
            for one in standing.pending or standing.latest[-1:]:
                if person in waiting and one.place.line is not None:
                    by_file[one.place.file].add(person)
    return frozenset(file for file, people in by_file.items() if len(people) > 1)


def write_there(case: Case, absent: Set[int], waiting: Set[int], logs: Set[str]) -> bool:
    """Whether all of these ranks write to those logs, as far as can be told: something of them is in one, or they have
    numbers between those of ranks that do."""
    heard = {
        case.people.number(fact.who) for fact in case.facts if isinstance(fact, SPEAKERS) and fact.place.file in logs
    }
    ranks = [rank for one in waiting if (rank := case.people.persons[one].rank) is not None]
    between = range(min(ranks, default=0), max(ranks, default=0))
    return all(one in heard or case.people.persons[one].rank in between for one in absent)


def held_before(oldest: Call | None, standing: Standing) -> bool:
    """Whether a rank is in another call before this one."""
    return oldest is not None and oldest.entered is not None and oldest not in standing.pending


def held_in(case: Case, edges: Sequence[Wait]) -> list[Wait]:
    """Those waits, without waiters that are in an older call, where times are told."""
    oldest = blockers(case.table)

    def in_it(waiter: int, wait: Wait) -> bool:
        call = oldest.get(waiter)
        return call is None or call.entered is None or (call.group, call.seq) == (wait.group, wait.seq)

    held = (replace(wait, waiters=frozenset(w for w in wait.waiters if in_it(w, wait))) for wait in edges)
    return [wait for wait in held if wait.waiters]


def left_behind(case: Case) -> tuple[frozenset[int], At | None]:
    """Those who are in a call that others of their group are through, and the call: the most of them."""
    found: dict[At, set[int]] = defaultdict(set)
    for group, person, call in behind(case.table, case.people):
        found[At(group, call.seq, call.signature.op)].add(person)
    at = max(found, key=lambda one: len(found[one]), default=None)
    return (frozenset(found[at]), at) if at is not None else (frozenset(), None)


def operation_at(standing: Standing, seq: int | None) -> str | None:
    signature = standing.signature(seq or 0)
    return signature.op if signature else None


def hangs(case: Case) -> bool:
    """Whether anything tells that somebody waits."""
    return bool(case.waits.waiters or common_call(case) or any(c.level <= Level.TIMEOUT for c in case.complaints))


def untold(case: Case) -> frozenset[int]:
    """Members of groups whose calls nothing tells of, where it does of others'."""
    everyone = {member for group in case.table for member in case.people.members(group) or ()}
    return frozenset(everyone - case.telling)
