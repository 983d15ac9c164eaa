"""Complaints of what is the speaker's own: which of them counts, and who is at fault in the same way.

May import: case, complaints, facts, verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from suites.diagnose.case import Case
from suites.diagnose.complaints import Complaint
from suites.diagnose.facts import Call, Level, Subject, Track

_SOME_CALLS = 8
"""Libraries make the first few themselves, before all are there."""


def own_faults(case: Case) -> list[Complaint]:
    """In their order, without launches that failed and were tried again."""
    own = [complaint for complaint in case.complaints if complaint.level == Level.INITIATING and complaint.cause]
    return [complaint for complaint in own if not overcome(case, complaint)]


def alike(own: Sequence[Complaint]) -> frozenset[int]:
    """Who is at fault in just the same way as the first: one exception of all ranks, or no memory on any, is no
    matter of the one that is written first."""
    first = own[0]
    if not (first.raised or first.cause == "resource"):
        return frozenset()
    found = [one for one in own if (one.what, one.cause, one.raised) == (first.what, first.cause, first.raised)]
    about = {subject.kind for complaint in found for subject in complaint.about}
    return frozenset(one.person for one in found if one.person is not None) if about == {"rank"} else frozenset()


def unreached(own: Sequence[Complaint]) -> tuple[Subject, ...]:
    """All hosts on which nothing could be launched, or that ran out of memory in just the same way, where the first
    complaint is of one of them."""
    first = own[0]
    if first.cause not in ("launch", "resource") or not first.about:
        return ()
    if any(subject.kind != "host" for subject in first.about):
        return ()
    alike_ones = (one for one in own if one.cause == first.cause and (one.cause == "launch" or one.what == first.what))
    found = (subject for one in alike_ones for subject in one.about if subject.kind == "host")
    return tuple(dict.fromkeys(found))


def broken_alike(own: Sequence[Complaint]) -> tuple[Subject, ...]:
    """All devices that are broken in just the same way as that of the first complaint."""
    first = own[0]
    if first.cause != "device" or not first.about or any(subject.kind != "device" for subject in first.about):
        return ()
    found = (subject for one in own if (one.cause, one.what) == ("device", first.what) for subject in one.about)
    return tuple(dict.fromkeys(subject for subject in found if subject.kind == "device"))


def overcome(case: Case, launch: Complaint) -> bool:
    """A launch failed, and a rank of the same log has gone far since, or broke down of its own."""
    if launch.cause != "launch":
        return False
    calls = (fact for fact in case.facts if isinstance(fact, Call | Track))
    return any(_gone_on(fact) and _behind(fact, launch) for fact in calls) or any(
        other.cause == "crashed" and other.raised and other.person is not None and _behind(other, launch)
        and case.people.persons[other.person].rank is not None
        for other in case.complaints
    )  # fmt: skip


def _gone_on(fact: Call | Track) -> bool:
    """Beyond the first calls of a group, to which all of its members had to come."""
    return ((fact.seq if isinstance(fact, Call) else fact.completed) or 0) >= _SOME_CALLS


def _behind(later: Call | Track | Complaint, earlier: Complaint) -> bool:
    """In the same log."""
    one, other = earlier.place, later.place
    return one.file == other.file and one.line is not None and other.line is not None and other.line > one.line
