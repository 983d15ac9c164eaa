"""What a right answer is: the truth of a job, less what the dumps that are there cannot show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.made_up.training import dumps
from tests.made_up.training.faults import circle
from tests.made_up.training.job import Job
from tests.made_up.training.program import Stop
from tests.made_up.training.streams import Launch

_NOBODY: frozenset[int] = frozenset()

Less = Literal["", "waits itself", "no starts", "no dump", "message may have come", "lost by the ring"]
"""Why less than the truth is asked. It is all of it where this is empty."""


@dataclass(frozen=True)
class Form:
    """What is left of a job's dumps: `how` they are written, and `lost`, whose is not there."""

    name: str
    how: Mapping[str, Any] = field(default_factory=dict)
    lost: Literal["", "culprit", "victim"] = ""

    def gone(self, job: Job) -> frozenset[int] | None:
        """Whose dumps are not there; nothing where a job has no such form. Who is killed or stopped from outside leaves
        none in any form."""
        culprits = job.truth.culprits
        steps = ((rank, job.run.ranks[rank].step) for rank in culprits)
        killed = frozenset(rank for rank, step in steps if isinstance(step, Stop) and (step.killed or step.silent))
        if not self.lost:
            return killed
        some = sorted(culprits - killed if self.lost == "culprit" else set(range(job.mesh.size)) - culprits)
        return killed | {some[job.seed % len(some)]} if some else None


FORMS: Sequence[Form] = (
    Form("active", {"active_only": True}),
    Form("whole", {"version": "2.10"}),
    Form("small ring", {"version": "2.10", "ring": 40}),
    Form("timing", {"timing": True}),
    Form("json", {"form": "json"}),
    Form("culprit's gone", {"active_only": True}, "culprit"),
    Form("victim's gone", lost="victim"),
)


@dataclass(frozen=True)
class Wanted:
    """Of an answer."""

    classes: frozenset[str]
    named: frozenset[int] = _NOBODY
    """All of them are, if it is right."""
    may_be: frozenset[int] = _NOBODY
    """Others are innocent."""
    suspected: frozenset[int] = _NOBODY
    """Where they are not named; else they are lost."""
    less: Less = ""


def wanted(job: Job, form: Form, gone: frozenset[int]) -> Wanted:
    """A ring that is smaller than what is under way has lost the calls by which ranks wait: then all that is asked is
    that nobody innocent is named."""
    found = _Sight(job, form, gone).of_class()
    found = replace(found, may_be=job.truth.culprits, suspected=found.suspected | found.named)
    ring = form.how.get("ring")
    if ring is not None and any(dumps.overwritten(job, rank, ring) for rank in range(job.mesh.size)):
        return Wanted(found.classes | {"joined", "undecided"}, may_be=found.may_be, less="lost by the ring")
    return found


class _Sight:
    """What the dumps that are there show of the truth."""

    def __init__(self, job: Job, form: Form, gone: frozenset[int]) -> None:
        self._job, self._truth, self._run = job, job.truth, job.run
        self._seen = frozenset(range(job.mesh.size)) - gone
        self._culprits = self._truth.culprits & self._seen
        self._starts = bool(form.how.get("timing"))
        self._history = not form.how.get("active_only") and "ring" not in form.how
        self._waits = job.run.waits()

    def of_class(self) -> Wanted:
        ways = {
            "none": self._none, "missing": self._missing, "stuck": self._stuck, "joined": self._joined,
            "mismatch": self._mismatch, "cycle": self._cycle,
        }  # fmt: skip
        return ways[self._truth.name]()

    @property
    def _all_seen(self) -> bool:
        return len(self._seen) == self._job.mesh.size

    def _none(self) -> Wanted:
        if self._all_seen:
            return Wanted(frozenset(("none",)))
        return Wanted(frozenset(("none", "undecided")), less="no dump")

    def _missing(self) -> Wanted:
        """A rank that stopped, and has calls under way that wait for another, looks like any victim of that one: it
        need not be named. Nor need one whose victims' dumps are all gone. Who was killed has left no dump, as one whose
        dump is gone: those who miss it make it a suspect, and nobody can say more. An early dump shows calls as under
        way that others are through."""
        missed = frozenset(rank for rank in self._truth.culprits if self._run.missers(rank) & self._seen)
        named = frozenset(rank for rank in missed & self._seen if not self._waits[rank])
        classes = frozenset(("missing",) if named else ("missing", "undecided"))
        if any(self._is_behind(rank) for rank in named):
            classes |= {"stuck"}
        less: Less = "" if named == self._truth.culprits else "waits itself" if self._all_seen else "no dump"
        return Wanted(classes, named, suspected=missed - self._seen, less=less)

    def _stuck(self) -> Wanted:
        """That a device hangs shows where it took part in a call that is over for others; or where starts are told:
        others' calls have started, and its own have not. Else all have entered the call, and it does not end; whoever
        says more must not be wrong. Where the host had nothing under way when it began to wait for the device, it has
        never entered the next call, as far as dumps show."""
        idle = frozenset(r for r in self._culprits if not self._open(r) and self._run.missers(r) & self._seen)
        behind = frozenset(rank for rank in self._culprits if self._is_behind(rank))
        hidden = frozenset(
            rank
            for rank in self._truth.culprits - self._seen
            if any(rank in self._waits[other] for other in self._seen)
        )
        if idle or behind:
            classes = {"missing"} if idle else {"stuck"}
            classes |= {"stuck"} if behind or not self._starts else set()
        else:
            classes = {"stuck", "missing"}
            classes |= {"joined"} if self._culprits else set()
            classes |= set() if self._all_seen else {"undecided"}
        less: Less = "no dump" if hidden else "waits itself" if self._starts else "no starts"
        shown = idle | behind
        return Wanted(frozenset(classes), shown, suspected=hidden, less="" if shown == self._truth.culprits else less)

    def _open(self, rank: int) -> list[Launch]:
        return self._run.ranks[rank].shown

    def _is_behind(self, rank: int) -> bool:
        return any(self._is_behind_in(rank, launch) for launch in self._open(rank))

    def _is_behind_in(self, rank: int, launch: Launch) -> bool:
        """Whether some that are seen are through what it has called, or have started it, which it has not. Of a batch
        of messages one end may be through before the other, unless it is through all of them."""
        ends = [
            (self._run.ranks[other], end)
            for call in launch.calls
            for other, end in call.meeting.launches.items() if other in self._seen and other != rank
        ]  # fmt: skip
        over = [other.ended(end) is not None for other, end in ends]
        through = all(over) and bool(over) if launch.calls[0].peer is not None else any(over)
        started = self._run.ranks[rank].started(launch) is None and any(
            other.started(end) is not None for other, end in ends
        )
        return through or (self._starts and started)

    @property
    def _members(self) -> frozenset[int]:
        assert self._truth.where is not None
        return frozenset(self._job.mesh.group(self._truth.where[0]).ranks)

    def _joined(self) -> Wanted:
        """Somebody whose dump is gone may be why, as far as the others can tell."""
        if self._members <= self._seen:
            return Wanted(frozenset(("joined",)))
        return Wanted(frozenset(("joined", "undecided")), less="no dump")

    def _mismatch(self) -> Wanted:
        """Between two nobody can say which is right."""
        seen = self._members & self._seen
        if not self._truth.culprits <= seen or len(seen) < 2:
            return Wanted(frozenset(("undecided",)), suspected=self._truth.culprits - self._seen, less="no dump")
        return Wanted(frozenset(("mismatch",)), self._truth.culprits if len(seen) > 2 else _NOBODY)

    def _cycle(self) -> Wanted:
        """A circle is seen where all of one are."""
        (rank,) = self._truth.culprits
        waits = {waiter: on & self._seen for waiter, on in self._waits.items() if waiter in self._seen}
        if rank not in self._seen:
            return Wanted(frozenset(("undecided",)), suspected=self._truth.culprits, less="no dump")
        if len(circle(waits, rank)) == 1:
            return Wanted(frozenset(("cycle", "undecided")), less="no dump")
        if not self._history and self._a_message_has_come():
            return Wanted(frozenset(("cycle", "undecided")), less="message may have come")
        return Wanted(frozenset(("cycle",)), self._truth.culprits)

    def _a_message_has_come(self) -> bool:
        """It is of a batch that is not over, and so looks as if it were under way: only who has recorded all of both
        ranks can count which is met by which."""
        calls = (call for rank in self._seen for launch in self._open(rank) for call in launch.calls)
        return any(call.peer is not None and call.meeting.over for call in calls)
