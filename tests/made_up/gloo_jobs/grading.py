"""An answer held against the truth of a job: class, ranks, call; who was blamed without fault, and who got away."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suites.diagnose.offline import diagnose
from suites.report import now
from tests.made_up.gloo_jobs import forms
from tests.made_up.gloo_jobs.plan import Where
from tests.made_up.gloo_jobs.run import Dumps, Outcome

Verdict = Mapping[str, Any]

_NAME = re.compile(r"\(([^()@]*)(?:@[^()]*)?\)$")
"""At the end of what a group is called: its name, and perhaps its members."""


@dataclass(frozen=True)
class Blame:
    """Who is to be named. `due` must be; `culprits` beyond them may be: they have stopped, and nobody waits for them
    yet. `calls` are where it shows; None where that may be anywhere."""

    classes: frozenset[str]
    culprits: frozenset[int]
    due: frozenset[int]
    calls: frozenset[Where] | None


@dataclass(frozen=True)
class Grade:
    """`suspected`: nobody is named, and all culprits are among the suspects. `innocents` were named, `lost` are
    culprits neither named nor suspected. `gone` is how many ranks left no dump."""

    blame: Blame
    verdict: Verdict
    right: bool
    suspected: bool
    innocents: frozenset[int]
    lost: frozenset[int]
    gone: int
    culprit_gone: bool

    @property
    def best(self) -> bool:
        """Nothing better can be said of these dumps: who has left none can only be suspected."""
        return self.right or (self.suspected and self.culprit_gone)


def grade(outcome: Outcome, dumps: Dumps, verdict: Verdict) -> Grade:
    """Of what was said of these dumps of a job."""
    blame = blame_of(outcome)
    named, suspects = _ranks(verdict["culprits"]), _ranks(verdict["suspects"])
    sides = frozenset(rank for side in verdict["sides"] for rank in side["ranks"])
    nothing = verdict["class"] == "none" and outcome.finished
    # In a circle each waits for the next: all who are in it are named.
    innocents = frozenset[int]() if _circle(verdict, blame) else named - blame.culprits
    right = nothing or (
        verdict["class"] in blame.classes
        and not innocents
        and _names(verdict, blame, named, sides)
        and _where(verdict, blame, outcome)
    )
    return Grade(
        blame, verdict, right,
        suspected=verdict["class"] in ("undecided", "joined") and not named and blame.due <= suspects,
        innocents=innocents,
        lost=frozenset() if outcome.finished else blame.due - named - suspects - sides,
        gone=outcome.plan.size - len(dumps),
        culprit_gone=not blame.due <= dumps.keys(),
    )  # fmt: skip


def answer(dumps: Dumps) -> Verdict:
    """What is said of these dumps."""
    with tempfile.TemporaryDirectory() as folder:
        forms.write(dumps, Path(folder))
        verdict: Verdict = diagnose([folder], ["opsdist"], now()).record()["verdict"]
    return verdict


def blame_of(outcome: Outcome) -> Blame:
    """The truth of the plan, as far as the job has come."""
    truth, stops = outcome.plan.truth, outcome.plan.stops()
    if not stops:
        return Blame(truth.classes, truth.culprits, truth.culprits, None if truth.anywhere else frozenset(truth.calls))
    # Who never came to its stop, since another was first, waits like everybody.
    culprits = outcome.stopped
    due = frozenset(rank for rank in culprits if outcome.called(stops[rank]))
    return Blame(truth.classes, culprits, due, frozenset(stops[rank] for rank in culprits))


def _ranks(subjects: list[dict[str, Any]]) -> frozenset[int]:
    return frozenset(subject["rank"] for subject in subjects if subject["kind"] == "rank")


def _circle(verdict: Verdict, blame: Blame) -> bool:
    return bool(verdict["class"] == "cycle" and "cycle" in blame.classes)


def _names(verdict: Verdict, blame: Blame, named: frozenset[int], sides: frozenset[int]) -> bool:
    if len(named) < len(verdict["culprits"]):
        return False  # something that is no rank is blamed
    if _circle(verdict, blame):
        return blame.due <= named
    if verdict["class"] == "mismatch" and len(sides) == 2:
        return not named and blame.due <= sides  # nobody can tell which of two is wrong
    return blame.due <= named


def _where(verdict: Verdict, blame: Blame, outcome: Outcome) -> bool:
    if blame.calls is None:
        return True
    at = verdict["collective"] or {}
    found = _NAME.search(at.get("group") or "")
    calls = {(outcome.names[group], seq) for group, seq in blame.calls}
    return found is not None and (found[1], at["seq"]) in calls
