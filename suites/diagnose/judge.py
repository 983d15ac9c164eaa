"""From facts to a verdict. Nobody is blamed for complaining, nor for saying nothing while anybody else can be.

What is judged is tried in the order of JUDGEMENTS: the first that has something to say wins.
May import: everything of this package but evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from suites.diagnose.blaming import blamed
from suites.diagnose.case import Case
from suites.diagnose.circles import circular, ordered
from suites.diagnose.complaints import Complaint
from suites.diagnose.facts import Absent, Level, Seen, Stack, Subject, Unread, Who
from suites.diagnose.graph import ends
from suites.diagnose.holding import (
    common_call,
    complaining,
    decisive_call,
    hangs,
    held_before,
    held_in,
    may_be_another,
    operation_at,
    own_call,
    shared_logs,
    untold,
    write_there,
)
from suites.diagnose.mismatch import Mismatch, ended_mismatch
from suites.diagnose.next_checks import NEXT
from suites.diagnose.own_faults import alike, broken_alike, overcome, own_faults, unreached
from suites.diagnose.paths import cut_off, in_common
from suites.diagnose.settings import differing_settings, unlike_hosts
from suites.diagnose.stacks import standing_apart
from suites.diagnose.undecided import undecided
from suites.diagnose.verdict import At, Confidence, Verdict
from suites.diagnose.waits import MISSED, blockers, members, met, order_waits
from suites.diagnose.words import call, everybody, somebody, verb


def judge(case: Case) -> Verdict:
    """The verdict of a case."""
    for judgement in JUDGEMENTS:
        if verdict := judgement(case):
            return _completed(case, verdict)
    return _completed(case, undecided(case))


def _mismatched(case: Case) -> Verdict | None:
    return _differing(case, case.mismatches[0]) if case.mismatches else None


def _mismatched_before(case: Case) -> Verdict | None:
    """In a call that ended all the same, where nothing else tells what is wrong."""
    found = ended_mismatch(case.table)
    verdict = _differing(case, found) if found else None
    return verdict and replace(
        verdict, confidence="hypothesis" if hangs(case) else verdict.confidence, waiting=frozenset(case.waits.waiters),
        explanation=f"{verdict.explanation}. The call ended all the same: what it gave is wrong",
    )  # fmt: skip


def _differing(case: Case, found: Mismatch) -> Verdict:
    at = At(found.group, found.seq, found.op) if found.group is not None else None
    told = "; ".join(f"{everybody(case.people, side)} called {signature}" for signature, side in found.sides if side)
    what = f"in {found.aspect}" if found.aspect else "in what they called"
    tie = "" if found.culprits else "; nothing tells which side is right"
    if found.doubtful:
        tie = "; if these are calls of one group, which the log does not tell"
    everyone = frozenset().union(*(people for _, people in found.sides))
    return Verdict(
        "mismatch", "certain" if found.culprits else "hypothesis" if found.doubtful else "likely",
        f"ranks differ {what} at {call(case.people, at)}: {told}{tie}",
        found.culprits, at=at, sides=found.sides, place=found.place, waiting=everyone - found.culprits,
        waits=[wait for wait in case.waits.sure if wait.group == found.group],
    )  # fmt: skip


def _rooted(case: Case) -> Verdict | None:
    """Ranks that others wait for, and that wait for nobody; and those who do not come out of what others are through,
    whether anybody has come to wait for them or not."""
    roots = (case.ends.roots | case.waits.alone) - case.unsure
    return blamed(case, roots, case.waits.sure, "likely") if roots and not _told_better(case, roots) else None


def _told_better(case: Case, roots: frozenset[int]) -> bool:
    """Whether they are but not heard of, and somebody tells of a fault of its own: it may be one of them."""
    waits = [wait for wait in case.waits.sure if wait.waited & roots]
    unheard = all(wait.why == MISSED and wait.group is None and wait.op is None for wait in waits)
    own = own_faults(case) if unheard else []
    return bool(own) and not any(complaint.person in roots for complaint in own)


def _initiated(case: Case) -> Verdict | None:
    """Somebody complains of what is their own."""
    own = own_faults(case)
    if not own:
        return None
    found, together, several = _by(case, own[0], "likely"), alike(own), unreached(own) or broken_alike(own)
    if several:
        return replace(found, about=several)
    if len(together) < 2:
        return found
    return replace(
        found, culprits=together, waiting=found.waiting - together,
        explanation=f"{everybody(case.people, together)}, each: {own[0].what}",
    )  # fmt: skip


def _by(case: Case, complaint: Complaint, confidence: Confidence) -> Verdict:
    assert complaint.cause is not None
    ranks = frozenset(
        number
        for subject in complaint.about
        if subject.kind == "rank" and (number := case.people.number(subject.who, complaint.place.file)) is not None
    )
    about = tuple(subject for subject in complaint.about if subject.kind != "rank")
    speaker = somebody(case.people, complaint.person) if complaint.person is not None else ""
    text = f"{speaker}: {complaint.what}" if speaker else complaint.what
    waiting = (
        (case.waits.waiters | complaining(case, Level.TIMEOUT, Level.CASCADE))
        - ranks
        - ({complaint.person} if about else set())
    )
    return Verdict(
        complaint.cause, confidence, text, ranks, about, waiting=frozenset(w for w in waiting if w is not None),
        initiating=complaint, waits=case.waits.sure, at=own_call(case, ranks) or common_call(case),
        next_checks=complaint.remedy,
    )  # fmt: skip


def _cut_off(case: Case) -> Verdict | None:
    found = cut_off(case.facts)
    if found is None:
        return None
    ends_of = [n for who in (found.by, *found.absent) if (n := case.people.number(who)) is not None]
    return Verdict(
        "transport", "likely",
        f"{everybody(case.people, ends_of)} do not hear each other: what lies between them is cut",
        about=(Subject("link", found.by, found.absent[0]),), place=found.place,
    )  # fmt: skip


def _failed_path(case: Case) -> Verdict | None:
    paths = (c for c in case.complaints if c.level == Level.TRANSPORT and c.cause)
    first = next((one for one in paths if not overcome(case, one)), None)
    if first is None:
        return None
    found = _by(case, first, "likely")
    if common := in_common(first, case.complaints, case.facts, case.people):
        path, words = common
        return replace(found, about=(path,), explanation=f"{found.explanation}; {words}")
    return found


def _configured(case: Case) -> Verdict | None:
    """A hang without a word of its cause, between hosts that are set up differently."""
    if not (case.waits.waiters or case.complaints or common_call(case)):
        return None
    return differing_settings(case.facts, case.people)


def _unlike(case: Case) -> Verdict | None:
    """Between hosts that are set up so differently that they cannot work together well."""
    return unlike_hosts(case.facts, case.people)


def _unheard(case: Case) -> Verdict | None:
    """In a log that ranks share, only those without a word are left; fewer than those that are heard to wait.

    Where each rank has a file of its own, a file that is not there proves nothing against anybody. Nor does a log of
    one host against the ranks of others: more than a third of all must be known to write there. Nor one that breaks
    off: who is not heard may have come next.
    """
    absent, waiting = case.unseen, case.waits.waiters
    if absent & complaining(case, Level.TIMEOUT) or any(may_be_another(case, one) for one in absent):
        return None
    if not absent or len(absent) > len(waiting) or case.ends.roots & case.unsure:
        return None
    logs, share = shared_logs(case, waiting), 2 * len(absent) - len(waiting)
    if any(isinstance(fact, Unread) and fact.breaks_off and fact.file in logs for fact in case.facts):
        return None
    if not logs or (share > 0 and not write_there(case, absent, waiting, logs)):
        return None
    verdict = blamed(case, absent, case.waits.unseen, "likely" if share < 0 else "hypothesis")
    told = next((c for c in case.complaints if c.person in absent and not c.end), None)
    text = f"There is no evidence of {verb(absent, 'it', 'them')}: all"
    if told is not None:
        text = f"It said nothing but: {told.what}. All" if len(absent) == 1 else f"One said: {told.what}. All"
    return verdict and replace(
        verdict, suspects=frozenset(),
        explanation=f"{verdict.explanation}. {text} that can be said is that all others are there",
    )  # fmt: skip


def _apart(case: Case) -> Verdict | None:
    """By stacks."""
    return standing_apart(case.facts, case.people)


def _joined(case: Case) -> Verdict | None:
    """All members of a group are in one call, and it does not end. Of several such calls the oldest holds up others."""
    found: list[tuple[float, At, frozenset[int]]] = []
    oldest = blockers(case.table)
    for group, table in case.table.items():
        fronts = {person: standing for person, standing in table.items() if standing.pending}
        seqs = {standing.front for standing in fronts.values()}
        if len(fronts) > 1 and len(seqs) == 1 and set(members(group, case.people, table)) <= set(fronts):
            first = next(iter(fronts.values()))
            if any(held_before(oldest.get(person), standing) for person, standing in fronts.items()):
                continue
            if any(wait.group == group and wait.waited - set(fronts) for wait in case.waits.unseen):
                continue  # somebody is waited for there of whom nothing is seen
            seq, began = first.front, [standing.pending[0].entered or 0.0 for standing in fronts.values()]
            found.append((min(began), At(group, seq, operation_at(first, seq)), frozenset(fronts)))
    if not found:
        return _met(case)
    _, at, everybody_there = min(found, key=lambda one: one[0])
    if case.people.counted(at.group):
        text = f"all {len(everybody_there)} ranks have entered {call(case.people, at)}, and it does not end"
        return Verdict("joined", "likely", text, waiting=everybody_there | case.waits.waiters, at=at)
    if len(everybody_there) % 2:
        return None  # few jobs have an odd number of ranks: more likely there is one that is not heard
    text = (
        f"{everybody(case.people, everybody_there)} have entered {call(case.people, at)}, and it does not end; nothing "
        "tells that there are more"
    )
    return Verdict("joined", "hypothesis", text, waiting=everybody_there | case.waits.waiters, at=at)


def _met(case: Case) -> Verdict | None:
    """Both ends are in a message, and it does not end. It may be either of them, or what lies between."""
    held = {waiter for wait in held_in(case, [*case.waits.sure, *case.waits.unseen]) for waiter in wait.waiters}
    found = [(message, two) for message, two in met(case.table, case.people) if not two & (held | case.cut)]
    if not found:
        return None
    first, _ = min(found, key=lambda one: one[0].entered or 0.0)
    both = frozenset().union(*(two for _, two in found))
    at = At(first.group, None, first.signature.op)
    text = (
        f"of messages between {everybody(case.people, both)} both ends are there, and they do not end; the first is "
        f"{call(case.people, at)}"
    )
    return Verdict(
        "joined", "hypothesis", text, suspects=both | case.unseen, waiting=frozenset(case.waits.waiters), at=at
    )


def _glimpsed(case: Case) -> Verdict | None:
    """Behind in one look at what may be moving: it tells something only of a job that is known to hang."""
    edges = case.waits.glimpsed
    roots = ends(edges).roots - case.unsure
    if not roots:
        return None
    if hangs(case):
        return blamed(case, roots, edges, "hypothesis")
    text = (
        f"{everybody(case.people, roots)} {verb(roots, 'was', 'were')} not yet in "
        f"{call(case.people, decisive_call(case, roots, edges))} when it was looked at once, as any running job shows"
    )
    return Verdict(
        "undecided", "hypothesis", text, suspects=roots, at=decisive_call(case, roots, edges), waits=edges,
        next_checks=("look a second time, after a minute: who has not moved then is behind",),
    )  # fmt: skip


def _nothing(case: Case) -> Verdict | None:
    """Evidence was seen, and nobody waits or complains."""
    seen = {fact.place.file for fact in case.facts if isinstance(fact, Seen)}
    # Stacks are taken of what hangs, and what was seen in part does not show that nothing is wrong.
    # Where ends are not told, the last call may be one that does not end.
    doubtful = any(isinstance(fact, Stack) or (isinstance(fact, Unread) and fact.file in seen) for fact in case.facts)
    doubtful |= any(isinstance(fact, Absent) and fact.absent for fact in case.facts)
    doubtful |= any(standing.ended_unknown for table in case.table.values() for standing in table.values())
    if not seen or doubtful or case.waits.waiters or common_call(case) or case.complaints:
        return None
    silent = untold(case)
    if silent:
        suspects = silent | case.telling if len(case.telling) <= len(silent) else silent
        text = f"nobody of those that were seen waits; there is no evidence of {everybody(case.people, silent)}"
        return Verdict("undecided", "hypothesis", text, suspects=frozenset(suspects))
    return Verdict("none", "likely", "nothing wrong in what was seen")


JUDGEMENTS: tuple[Callable[[Case], Verdict | None], ...] = (
    _mismatched, _rooted, circular, _initiated, ordered, _cut_off, _failed_path, _configured, _unheard, _apart,
    _joined, _unlike, _glimpsed, _mismatched_before, _nothing,
)  # fmt: skip


_MOST_HINTS = 4
_OF_PROCESSES = frozenset(("missing", "crashed", "stuck"))
"""What happens to processes, and so to all of a host at once."""


def _completed(case: Case, verdict: Verdict) -> Verdict:
    """With those who cannot be excluded, whole hosts, and what to do next."""
    suspects = verdict.suspects or (case.unseen if verdict.name != "none" else frozenset())
    circles = frozenset().union(*case.ends.cycles) if verdict.name != "none" else frozenset()
    suspects |= case.unsure & (case.ends.roots | ends(order_waits(case.table, case.people)).roots | circles)
    about = verdict.about or (_host(case, verdict.culprits) if verdict.name in _OF_PROCESSES else ())
    own = verdict.initiating.remedy if verdict.initiating else ()
    if verdict.name in ("undecided", "joined"):  # what proves nothing may still be worth a look
        open_ones = (one for one in case.complaints if verdict.name == "undecided" or not one.cause)
        hints = (step for complaint in open_ones for step in complaint.remedy)
        own = (*own, *islice(dict.fromkeys(hints), _MOST_HINTS))
    checks = tuple(dict.fromkeys((*verdict.next_checks, *own, *NEXT[verdict.name])))
    suspects = frozenset(suspects) - verdict.culprits
    return replace(
        verdict, suspects=suspects, waiting=verdict.waiting - suspects, about=about, next_checks=checks,
    )  # fmt: skip


def _host(case: Case, culprits: frozenset[int]) -> tuple[Subject, ...]:
    """Where all ranks of a host are at fault, and no others, it is the host."""
    hosts = {case.people.persons[number].host for number in culprits}
    if len(culprits) < 2 or len(hosts) != 1 or None in hosts:
        return ()
    everyone = {number for number, person in enumerate(case.people.persons) if person.host in hosts}
    elsewhere = {person.host for person in case.people.persons} - hosts - {None}
    host = hosts.pop()
    return (Subject("host", Who(host=host)),) if everyone == culprits and elsewhere else ()
