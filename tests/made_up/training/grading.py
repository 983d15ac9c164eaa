"""Answers of the engine graded by what is right of training jobs."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suites.diagnose.offline import diagnose
from suites.report import now
from tests.made_up.training import dumps
from tests.made_up.training.job import Job
from tests.made_up.training.wanted import Form, Wanted, wanted


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
    circle = job.truth.circle if verdict["class"] == "cycle" else frozenset()
    innocent = named - found.may_be - circle
    lost = found.suspected - named - _ranks(verdict["suspects"])
    right = (
        verdict["class"] in found.classes
        and found.named <= named
        and (bool(named) or verdict["class"] not in ("missing", "stuck", "cycle"))
        and (found.less == "lost by the ring" or _is_where(job, verdict, named))
    )
    return Grade(found, right and not innocent and not lost, innocent, lost, verdict)


def _ranks(subjects: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    return frozenset(subject["rank"] for subject in subjects if subject["kind"] == "rank")


def _is_where(job: Job, verdict: Mapping[str, Any], named: frozenset[int]) -> bool:
    """Whether the call is one that it hangs in: the first that one of those named has not called, or one that does not
    end for a culprit. Messages are told by their group only."""
    at, name = verdict["collective"], verdict["class"]
    if name not in ("mismatch", "missing", "stuck", "joined"):
        return True
    if at is None:
        return False
    if job.truth.where is not None:
        return _is(at, *job.truth.where)
    ranks = [job.run.ranks[rank] for rank in named or job.truth.culprits]
    not_called = [
        (group.name, rank.collectives[group.name] + 1) for rank in ranks for group in job.mesh.of(rank.number).values()
    ]
    not_over = [(call.group, call.collective) for rank in ranks for one in rank.shown for call in one.calls]
    if at["op"] in ("send", "recv"):
        return any(f"({group}@" in at["group"] for group, _ in not_called)
    return any(_is(at, group, seq) for group, seq in (not_called if name == "missing" else not_over))


def _is(at: Mapping[str, Any], group: str, seq: int) -> bool:
    return at["seq"] == seq and f"({group}@" in at["group"]
