"""Answers of the engine graded by the truth of training jobs, as far as the dumps that are there can show it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from suites.diagnose.offline import diagnose
from suites.report import now
from tests.made_up.training import dumps
from tests.made_up.training.faults import circle
from tests.made_up.training.job import Job
from tests.made_up.training.streams import Launch

_NOBODY: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Form:
    """What is left of a job's dumps: `how` they are written, and `lost`, whose is not there."""

    name: str
    how: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    lost: Literal["", "culprit", "victim"] = ""

    def gone(self, job: Job) -> frozenset[int] | None:
        """Whose dumps are not there; nothing where a job has no such form. Who is killed leaves none in any form."""
        culprits = job.truth.culprits
        killed = culprits if job.fault == "killed" else _NOBODY
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
    """What a right answer is."""

    classes: frozenset[str]
    named: frozenset[int] = _NOBODY
    """All of them are, if it is right."""
    may_be: frozenset[int] = _NOBODY
    """Others are innocent."""
    suspected: frozenset[int] = _NOBODY
    """Where they are not named; else they are lost."""
    anywhere: bool = False
    """The call in which it hangs cannot be told."""


def wanted(job: Job, form: Form, gone: frozenset[int]) -> Wanted:
    """The truth, less what nobody can see in these dumps.

    A ring that is smaller than what is under way has lost the calls by which ranks wait: then all that is asked is that
    nobody innocent is named.
    """
    truth = job.truth
    found = _Sight(job, form, gone).of_class()
    found = replace(found, may_be=truth.culprits, suspected=found.suspected | found.named)
    ring = form.how.get("ring")
    if ring is not None and any(dumps.overwritten(job, rank, ring) for rank in range(job.mesh.size)):
        return Wanted(found.classes | {"joined", "undecided"}, may_be=found.may_be, anywhere=True)
    return found


class _Sight:
    """What the dumps that are there show of the truth."""

    def __init__(self, job: Job, form: Form, gone: frozenset[int]) -> None:
        self._job, self._truth, self._run = job, job.truth, job.run
        self._starts = bool(form.how.get("timing"))
        self._seen = frozenset(range(job.mesh.size)) - gone
        self._counts = not form.how.get("active_only") and "ring" not in form.how
        self._waits = job.run.waits()

    def of_class(self) -> Wanted:
        if self._truth.name == "none":
            return Wanted(frozenset(("none",) if self._all_seen else ("none", "undecided")))
        if self._truth.name == "missing":
            return self._missing()
        if self._truth.name == "stuck":
            return self._stuck()
        if self._truth.name == "joined":
            return self._joined()
        if self._truth.name == "mismatch":
            return self._mismatch()
        return self._cycle()

    @property
    def _all_seen(self) -> bool:
        return len(self._seen) == self._job.mesh.size

    def _missing(self) -> Wanted:
        """A rank that stopped, and has calls under way that wait for another, looks like any victim of that one: it
        need not be named. Nor need one whose victims' dumps are all gone. Who was killed has left no dump, as one whose
        dump is gone: those who miss it make it a suspect, and nobody can say more."""
        missed = frozenset(rank for rank in self._truth.culprits if self._run.missers(rank) & self._seen)
        named = frozenset(rank for rank in missed & self._seen if not self._waits[rank])
        return Wanted(
            frozenset(("missing",) if named else ("missing", "undecided")), named, suspected=missed - self._seen
        )

    def _stuck(self) -> Wanted:
        """That a device hangs shows where starts are told: others' calls have started, and its own have not. Else all
        have entered the call, and it does not end. Where the host had nothing more under way when it began to wait for
        the device, it has never entered the next call, as far as dumps show."""
        seen = self._truth.culprits & self._seen
        idle = frozenset(rank for rank in seen if not self._open(rank) and self._run.missers(rank) & self._seen)
        behind = frozenset(rank for rank in seen if self._is_behind(rank)) if self._starts else _NOBODY
        classes = {"missing"} if idle else set()
        if not idle or behind:
            classes.add("stuck")
        if not self._starts:
            classes |= {"stuck", "missing"}
        if not idle and not behind:
            classes |= {"joined"} if seen else set()
            classes |= set() if self._all_seen else {"undecided"}
        hidden = frozenset(
            rank for rank in self._truth.culprits - self._seen
            if any(rank in self._waits[other] for other in self._seen)
        )  # fmt: skip
        return Wanted(frozenset(classes), idle | behind, suspected=hidden)

    def _open(self, rank: int) -> list[Launch]:
        return [launch for launch in self._run.ranks[rank].open if launch.calls]

    def _is_behind(self, rank: int) -> bool:
        """Whether some that are seen have started what it has called."""
        return any(
            other in self._seen and end.started is not None
            for launch in self._open(rank) if launch.started is None
            for call in launch.calls
            for other, end in call.meeting.launches.items()
        )  # fmt: skip

    def _joined(self) -> Wanted:
        """Somebody whose dump is gone may be why, as far as the others can tell."""
        assert self._truth.where is not None
        members = frozenset(self._job.mesh.group(self._truth.where[0]).ranks)
        return Wanted(frozenset(("joined",) if members <= self._seen else ("joined", "undecided")))

    def _any_has_come(self) -> bool:
        calls = (call for rank in self._seen for launch in self._open(rank) for call in launch.calls)
        return any(call.peer is not None and call.meeting.over for call in calls)

    def _mismatch(self) -> Wanted:
        """Between two that are seen nobody can say which is right."""
        assert self._truth.where is not None
        members = self._seen.intersection(self._job.mesh.group(self._truth.where[0]).ranks)
        if not self._truth.culprits <= members or len(members) < 2:
            return Wanted(frozenset(("undecided",)), suspected=self._truth.culprits - self._seen)
        return Wanted(frozenset(("mismatch",)), self._truth.culprits if len(members) > 2 else _NOBODY)

    def _cycle(self) -> Wanted:
        """A circle is seen where all of one are. Which message of one rank is met by which of the other shows where all
        were recorded; else one of a batch that is not over looks as if it were under way when it has come."""
        waits = {rank: on & self._seen for rank, on in self._waits.items() if rank in self._seen}
        (rank,) = self._truth.culprits
        if rank not in self._seen:
            return Wanted(frozenset(("undecided",)), suspected=self._truth.culprits)
        if len(circle(waits, rank)) > 1 and (self._counts or not self._any_has_come()):
            return Wanted(frozenset(("cycle",)), self._truth.culprits)
        return Wanted(frozenset(("cycle", "undecided")))


@dataclass(frozen=True)
class Grade:
    """`innocent` were blamed, `lost` are neither named nor suspected."""

    wanted: Wanted
    right: bool
    innocent: frozenset[int]
    lost: frozenset[int]
    verdict: Mapping[str, Any]

    def __str__(self) -> str:
        """What was said, and what is right."""
        named, suspects = sorted(_ranks(self.verdict["culprits"])), sorted(_ranks(self.verdict["suspects"]))
        at = self.verdict["collective"]
        where = f" at {at['op']} #{at['seq']} of {at['group']}" if at else ""
        return (
            f"said {self.verdict['class']} {named}, suspects {suspects}{where}; right is "
            f"{' or '.join(sorted(self.wanted.classes))} {sorted(self.wanted.named)}, at fault are "
            f"{sorted(self.wanted.may_be)}"
        )


def grade(job: Job, form: Form) -> Grade | None:
    """Nothing where a job has no such form."""
    gone = form.gone(job)
    if gone is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        dumps.write(job, Path(folder), gone=gone, **form.how)
        verdict = diagnose([folder], ["opsdist"], now()).record()["verdict"]
    found, named = wanted(job, form, gone), _ranks(verdict["culprits"])
    # All of a circle are named as such, and nobody of them is blamed.
    innocent = named - found.may_be - (job.truth.circle if verdict["class"] == "cycle" else _NOBODY)
    lost = found.suspected - named - _ranks(verdict["suspects"])
    right = (
        verdict["class"] in found.classes
        and found.named <= named
        and (bool(named) or verdict["class"] not in ("missing", "stuck", "cycle"))
        and (found.anywhere or _is_where(job, verdict, named))
    )
    return Grade(found, right and not innocent and not lost, innocent, lost, verdict)


def _ranks(subjects: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    return frozenset(subject["rank"] for subject in subjects if subject["kind"] == "rank")


def _is_where(job: Job, verdict: Mapping[str, Any], named: frozenset[int]) -> bool:
    """Whether the call is one that it hangs in: the first that one of those named has not called, or that does not end
    for a culprit. Messages are told by their group only."""
    at, name = verdict["collective"], verdict["class"]
    if name in ("mismatch", "joined") and job.truth.where is not None:
        return at is not None and _is(at, *job.truth.where)
    if name not in ("missing", "stuck", "joined"):
        return True
    if at is None:
        return False
    ranks = [job.run.ranks[rank] for rank in named or job.truth.culprits]
    next_ones = [(group, seq + 1) for rank in ranks for group, seq in rank.collectives.items()]
    next_ones += [(group.name, 1) for rank in ranks for group in job.mesh.of(rank.number).values()]
    open_ones = [(call.group, call.collective) for rank in ranks for one in rank.open for call in one.calls]
    if at["op"] in ("send", "recv"):
        return any(f"({group}@" in at["group"] for group, _ in next_ones + open_ones)
    return any(_is(at, group, seq) for group, seq in (next_ones if name == "missing" else open_ones))


def _is(at: Mapping[str, Any], group: str, seq: int) -> bool:
    return at["seq"] == seq and f"({group}@" in at["group"]
