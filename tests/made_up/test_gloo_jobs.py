"""The examiner of real jobs tells right answers from wrong ones. It needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.made_up.gloo_jobs.faults import FAULTS, planned
from tests.made_up.gloo_jobs.grading import grade
from tests.made_up.gloo_jobs.plan import Plan
from tests.made_up.gloo_jobs.run import Outcome

pytestmark = pytest.mark.any_engine


@pytest.mark.parametrize("fault", FAULTS)
def test_a_plan_is_the_same_each_time_and_when_it_is_read_again(fault: str) -> None:
    for seed in range(20):
        plan = planned(seed, fault)
        assert plan == planned(seed, fault)
        assert Plan.from_json(plan.to_json()) == plan


def verdict(name: str, **more: Any) -> dict[str, Any]:
    """Made up. Ranks stand for culprits and suspects."""
    told = {"class": name, "culprits": [], "suspects": [], "sides": [], "collective": None, **more}
    for who in ("culprits", "suspects"):
        told[who] = [{"kind": "rank", "rank": rank} for rank in told[who]]
    return told


def outcome_of(
    plan: Plan, *, at: Mapping[int, int] | None = None, stopped: int | None = None, gone: int | None = None,
    finished: bool = False,
) -> Outcome:  # fmt: skip
    """Of ranks that came to the end of their programs, or as far as `at`. Dumps are not read here."""
    ends = {rank: len(program) - 1 for rank, program in enumerate(plan.programs)}
    return Outcome(
        plan,
        dumps={rank: {} for rank in range(plan.size) if rank != gone},
        names={name: name for name in plan.groups},
        at=at or ends,
        stopped=frozenset() if stopped is None else frozenset({stopped}),
        broken=frozenset(),
        finished=finished,
    )


def stops(gone: int | None = None) -> Outcome:
    """Rank 3 of 4 has stopped where rank 1 waits for it, in group 2."""
    plan = planned(1)
    assert (plan.groups["2"], plan.stops()) == ((1, 3), {3: ("2", 4)})
    return outcome_of(plan, at={0: 6, 1: 6, 2: 6, 3: 5}, stopped=3, gone=gone)


AT: dict[str, Any] = {"collective": {"group": "G2 (2@1,3)", "seq": 4, "op": "barrier"}}


@pytest.mark.parametrize(
    ("said", "right", "innocents", "lost"),
    [
        (verdict("missing", culprits=[3], **AT), True, set(), set()),
        (verdict("stuck", culprits=[3], **AT), False, set(), set()),
        (verdict("missing", culprits=[3], collective={**AT["collective"], "seq": 3}), False, set(), set()),
        (verdict("missing", culprits=[3], collective={**AT["collective"], "group": "G1 (1)"}), False, set(), set()),
        (verdict("missing", culprits=[3]), False, set(), set()),
        (verdict("missing", culprits=[1, 3], **AT), False, {1}, set()),
        (verdict("missing", culprits=[1], suspects=[3], **AT), False, {1}, set()),
        (verdict("cycle", culprits=[1, 3]), False, {1}, set()),
        (verdict("none"), False, set(), {3}),
        (verdict("undecided", suspects=[0, 1]), False, set(), {3}),
    ],
)
def test_wrong_answers_are_known(said: dict[str, Any], right: bool, innocents: set[int], lost: set[int]) -> None:
    graded = grade(stops(), stops().dumps, said)
    assert (graded.right, graded.best, set(graded.innocents), set(graded.lost)) == (right, right, innocents, lost)


def test_suspicion_is_the_best_answer_where_the_culprit_left_no_dump() -> None:
    said = verdict("undecided", suspects=[1, 3])
    whole, gone = (grade(outcome, outcome.dumps, said) for outcome in (stops(), stops(gone=3)))
    assert (whole.right, whole.suspected, whole.best) == (False, True, False)
    assert (gone.right, gone.suspected, gone.best, gone.gone) == (False, True, True, 1)


def test_who_never_came_to_its_stop_is_innocent() -> None:
    plan = planned(6)
    assert plan.stops() == {0: ("0", 4), 5: ("0", 6)}
    outcome = outcome_of(plan, at=dict.fromkeys(range(plan.size), 3) | {0: 2}, stopped=0)
    where = {"collective": {"group": "default_pg (0)", "seq": 4, "op": "broadcast"}}
    graded = grade(outcome, outcome.dumps, verdict("missing", culprits=[0], **where))
    assert (graded.right, graded.lost) == (True, frozenset())
    assert grade(outcome, outcome.dumps, verdict("missing", culprits=[0, 5], **where)).innocents == {5}


def test_of_two_that_differ_nobody_is_to_be_named() -> None:
    plans = (planned(seed, "swap") for seed in range(100))
    plan, group, seq = next(
        (plan, group, seq) for plan in plans for group, seq in plan.truth.calls if len(plan.groups[group]) == 2
    )
    (culprit,) = plan.truth.culprits
    (other,) = set(plan.groups[group]) - {culprit}
    outcome = outcome_of(plan)
    tie: dict[str, Any] = {
        "sides": [{"signature": "reduce", "ranks": [culprit]}, {"signature": "broadcast", "ranks": [other]}],
        "collective": {"group": f"G{group} ({group})", "seq": seq, "op": "reduce"},
    }
    assert grade(outcome, outcome.dumps, verdict("mismatch", **tie)).right
    assert not grade(outcome, outcome.dumps, verdict("mismatch", culprits=[culprit], **tie)).right
    assert grade(outcome, outcome.dumps, verdict("mismatch", culprits=[other], **tie)).innocents == {other}


def test_a_job_that_finished_in_spite_of_its_fault_has_none() -> None:
    outcomes = [outcome_of(planned(8), finished=finished) for finished in (True, False)]
    grades = [grade(outcome, outcome.dumps, verdict("none")) for outcome in outcomes]
    assert [(one.right, set(one.lost)) for one in grades] == [(True, set()), (False, {3})]
