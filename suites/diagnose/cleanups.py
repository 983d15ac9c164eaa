"""Who was killed by what, where several were: launchers end with SIGKILL those who are left when one has ended.

May import: complaints' Complaint, facts, ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from suites.diagnose.facts import Level, Trouble
from suites.diagnose.people import People
from suites.diagnose.ranks import runs

if TYPE_CHECKING:
    from suites.diagnose.complaints import Complaint

_SRUN_ENDS = frozenset(("srun.terminating", "srun.aborted", "srun.time_limit", "slurm.preempted", "slurm.cancelled"))
"""Rows of what is said before Slurm kills what is left."""
_LAST = 1 << 40
_WHO_FIRST = "the batch system's log: whether it ended the job; the output of each rank with times: whose ends first"
_BY_SRUN = "srun: error:"
_BY_KERNEL = "kernel.out_of_memory"
_BY_SLURM = "Out Of Memory"


def told_apart(found: Sequence[Complaint], said: Sequence[object], people: People) -> list[Complaint]:
    """`found` with those who were but killed along with others as such, and nobody named where it may be any."""
    ordered = {
        fact.place.file: fact.place.line or 0
        for fact in reversed(said)
        if isinstance(fact, Trouble) and fact.known_as in _SRUN_ENDS
    }
    by_kernel = [fact for fact in said if isinstance(fact, Trouble) and fact.known_as == _BY_KERNEL]
    places = {fact.place for fact in by_kernel}
    kills = [one for one in found if one.killed and one.level == Level.INITIATING and one.place not in places]
    proved = {people.number(fact.who, fact.place.file) for fact in by_kernel}
    proved |= {one.person for one in kills if _BY_SLURM in one.place.text}
    proved &= {one.person for one in kills}
    along = {
        one.order
        for one in kills
        if one.person not in proved and (proved or _ended_by_srun(one, ordered) or _told_behind(one, found))
    }
    left = [one for one in kills if one.order not in along and one.person not in proved]
    unclear = {one.order for one in left} if len({_who(one) for one in left}) > 1 and not _one_first(left) else set()
    who = _named([one.person for one in left], people)
    text = (
        f"{who}SIGKILL has ended several, as a launcher ends the others when one is gone: nothing tells who was first"
    )
    return [
        replace(one, level=Level.TEARDOWN, cause=None) if one.order in along
        else _of_nobody(one, text) if one.order in unclear
        else one
        for one in found
    ]  # fmt: skip


def _of_nobody(kill: Complaint, text: str) -> Complaint:
    """Behind all else of its level: whatever path has failed tells more."""
    remedy = (*kill.remedy, _WHO_FIRST)
    return replace(
        kill, level=Level.TRANSPORT, person=None, about=(), what=text, remedy=remedy, order=kill.order + _LAST
    )


def _ended_by_srun(kill: Complaint, ordered: dict[str, int]) -> bool:
    return kill.place.text.startswith(_BY_SRUN) and ordered.get(kill.place.file, 1 << 60) < (kill.place.line or 0)


def _told_behind(kill: Complaint, found: Iterable[Complaint]) -> bool:
    """The end of just one other is told before several are killed. srun tells such ends in no order."""
    ends = [one for one in found if (one.end or one.killed) and one.place.file == kill.place.file]
    first = next((one.order for one in ends if one.killed), None)
    if first is None or len({_who(one) for one in ends if one.killed}) < 2 or kill.place.text.startswith(_BY_SRUN):
        return False
    others = [one for one in ends if one.end]
    return len({_who(one) for one in others}) == 1 and min(one.order for one in others) < first


def _one_first(kills: Sequence[Complaint]) -> bool:
    """By the times of their lines."""
    times = [one.place.time for one in kills if one.place.time is not None]
    return len(times) == len(kills) and len({_who(one) for one in kills if one.place.time == min(times)}) == 1


def _who(one: Complaint) -> object:
    return one.about if one.person is None else one.person


def _named(persons: Iterable[int | None], people: People) -> str:
    ranks = {people.persons[one].rank for one in persons if one is not None} - {None}
    return f"ranks {', '.join(runs(sorted(rank for rank in ranks if rank is not None)))}: " if ranks else ""
