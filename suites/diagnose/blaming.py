"""The verdict on ranks that others wait for: what they hold up, in which call, and what is told of why.

May import: everything of this package but evidence and judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from suites.diagnose.case import Case
from suites.diagnose.complaints import Complaint
from suites.diagnose.facts import Class, Ended, Level, Place, Track
from suites.diagnose.graph import Wait, reaching
from suites.diagnose.holding import decisive_call, how_held, missed_at, own_call
from suites.diagnose.own_faults import own_faults
from suites.diagnose.verdict import At, Confidence, Verdict
from suites.diagnose.words import call, counted, everybody, verb


def blamed(case: Case, roots: frozenset[int], edges: Sequence[Wait], confidence: Confidence) -> Verdict | None:
    """Of those who are at fault for what the rest waits for; nothing where all of them are in one call."""
    held = {root: how_held(case, roots, root) for root in roots}
    together = {root for root, how in held.items() if how == "joined"}
    if together == set(roots):
        return None  # all of a group are there: nobody of them is behind
    roots -= together
    own = [complaint for complaint in case.complaints if complaint.person in roots]
    broken = [
        complaint for complaint in own if complaint.cause and (complaint.end or complaint.level == Level.INITIATING)
    ]
    roots -= _on_their_way(case, roots) - {complaint.person for complaint in broken} if broken else set()
    name: Class = "missing" if any(held[root] == "missing" for root in roots) else "stuck"
    waiting = frozenset(reaching(roots, [*case.waits.sure, *case.waits.unseen, *case.waits.glimpsed]))
    at = decisive_call(case, roots, edges)
    cause = next(iter(broken), None)
    if cause is None and name == "stuck":
        cause = next((c for c in own if c.cause and c.level == Level.TRANSPORT), None)
    victims = f"{counted(len(waiting), 'rank')} {verb(waiting, 'waits', 'wait')} for {verb(roots, 'it', 'them')}"
    if name == "stuck":
        at = own_call(case, roots) or at
    did = "never entered" if name == "missing" else f"{verb(roots, 'does', 'do')} not come through"
    there = _missed_in(edges, at) & roots if name == "missing" else roots
    text = f"{everybody(case.people, there or roots)} {did} {call(case.people, at)}; {victims}"
    if there and there != roots:
        others = roots - there
        text = f"{text}; {everybody(case.people, others)} {verb(others, 'holds', 'hold')} up ranks elsewhere"
    told = missed_at(case, roots) if name == "missing" else None
    if told is not None and at is None:
        text = f"{everybody(case.people, roots)} {verb(roots, 'is', 'are')} not heard of by who watches; {victims}"
    left = _left(case, roots)
    stray = _stray(case, roots, told) if cause is None and name == "missing" else None
    if stray is not None and stray.cause:
        name, cause = stray.cause, stray
        text = f"{everybody(case.people, roots)}, of whom nothing else is told: {stray.what}; {victims}"
    elif cause is not None and cause.cause:
        # Who is held up before it comes to a call is not in it.
        name, confidence = "missing" if (name, cause.cause) == ("missing", "stuck") else cause.cause, "certain"
        text = f"{everybody(case.people, roots)}: {cause.what}; {victims} in {call(case.people, at)}"
    elif left:
        text = f"{text}; {left}"
    elif name == "stuck":
        text += ": what was handed to its device does not end"
    return Verdict(
        name, confidence, text, roots, cause.about if cause and name in ("device", "transport") else (), case.unseen,
        waiting, at, initiating=cause, place=told, waits=edges,
    )  # fmt: skip


def _stray(case: Case, roots: frozenset[int], missed: Place | None) -> Complaint | None:
    """A break-down of which is not told whose it was, where one alone is missed of which there is no evidence: it is
    its, if all others are heard and it was said before that one was missed."""
    if len(roots) != 1 or roots & case.telling or any(complaint.person in roots for complaint in case.complaints):
        return None
    own = own_faults(case)
    found = next(iter(own), None)
    if found is None or any(complaint.what != found.what for complaint in own):
        return None
    about = {subject.kind for subject in found.about}
    nobody = found.person is None or (found.person not in case.telling and not _known(case, found.person))
    late = missed is not None and missed.file == found.place.file and (missed.line or 0) < (found.place.line or 0)
    return found if nobody and about == {"rank"} and not late else None


def _known(case: Case, person: int) -> bool:
    """By a rank, in the world or in a group."""
    one = case.people.persons[person]
    return one.rank is not None or bool(one.group_ranks)


def _on_their_way(case: Case, roots: Set[int]) -> frozenset[int]:
    """Those who may be but slower than who waits for them: they were looked at the moment that something broke."""
    return frozenset(
        root
        for fact in case.facts
        if isinstance(fact, Track) and fact.instant
        and (root := case.people.number(fact.who, fact.place.file)) is not None and root in roots
    )  # fmt: skip


def _left(case: Case, roots: Iterable[int]) -> str:
    """Those of the roots whose process came to a good end."""
    gone = {
        number
        for fact in case.facts
        if isinstance(fact, Ended) and fact.code == 0 and (number := case.people.number(fact.who)) in set(roots)
    }
    return f"{verb(frozenset(gone), 'its process', 'their processes')} left with exit 0" if gone else ""


def _missed_in(edges: Sequence[Wait], at: At | None) -> frozenset[int]:
    """Who is waited for in that call."""
    waited = (wait.waited for wait in edges if at is not None and (wait.group, wait.seq) == (at.group, at.seq))
    return frozenset().union(*waited)
