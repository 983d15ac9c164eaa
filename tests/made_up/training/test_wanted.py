"""What is asked of an answer, of small jobs that are written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest

from tests.made_up.training import mesh
from tests.made_up.training.faults import Fault, truth
from tests.made_up.training.job import Job
from tests.made_up.training.mesh import Mesh
from tests.made_up.training.program import Collective, Hang, HostSync, Message, Messages, Plan, Step, Stop, program
from tests.made_up.training.streams import Run
from tests.made_up.training.wanted import FORMS, Form, Wanted, wanted

ACTIVE, TIMING = (next(form for form in FORMS if form.name == name) for name in ("active", "timing"))
NO_PLAN = Plan(1, 1, 1, experts=False, routed_by_host=False, sharded=False, batched=True)
ALL = Collective("0", "all_reduce", 8)


def job(programs: Sequence[Sequence[Step]], fault: Fault, name: str = "") -> Job:
    """Of replicas; group 0 is of all ranks."""
    of = Mesh(1, len(programs), 1, 1)
    run = Run(of, programs, 8, Random(1))
    return Job(0, name, of, NO_PLAN, run, truth(fault, run), (0,) * of.size)


def asked(made: Job, form: Form = ACTIVE) -> Wanted:
    gone = form.gone(made)
    assert gone is not None
    return wanted(made, form, gone)


def test_who_stopped_and_waits_for_another_need_not_be_named_and_is_not_innocent() -> None:
    made = job([[Stop()], [ALL, Stop()], [ALL, HostSync()]], Fault("missing", frozenset((0, 1))))
    assert made.truth.culprits == {0, 1}
    found = asked(made)
    assert (found.classes, found.named, found.may_be, found.less) == ({"missing"}, {0}, {0, 1}, "waits itself")


def test_who_was_held_up_before_its_own_fault_is_innocent() -> None:
    made = job([[Stop()], [ALL, HostSync(), Stop()], [ALL]], Fault("missing", frozenset((0, 1))))
    assert made.truth.culprits == {0}
    assert asked(made).may_be == {0}


def test_who_was_killed_is_suspected_and_what_it_had_under_way_is_over() -> None:
    made = job([[Hang(), ALL, Stop(killed=True)], [ALL], [ALL]], Fault("missing", frozenset((0,))), "killed")
    assert made.run.missers(0) == {1, 2}
    found = asked(made)
    assert (found.named, found.suspected, found.less) == (frozenset(), {0}, "no dump")
    assert "undecided" in found.classes


def test_that_a_device_hangs_shows_where_starts_are_told() -> None:
    made = job([[Hang(), ALL], [ALL], [ALL]], Fault("stuck", frozenset((0,))))
    assert (asked(made).named, asked(made).less) == (frozenset(), "no starts")
    assert "joined" in asked(made).classes
    assert (asked(made, TIMING).classes, asked(made, TIMING).named) == ({"stuck"}, {0})


def test_whose_host_waits_for_its_hung_device_has_not_called() -> None:
    made = job([[Hang(), HostSync(), ALL], [ALL], [ALL]], Fault("stuck", frozenset((0,))))
    assert (asked(made).named, asked(made).less) == ({0}, "")
    assert "missing" in asked(made).classes


def test_between_two_nobody_is_named() -> None:
    other = Collective("0", "all_reduce", 9)
    two, three = (job([[other], *[[ALL]] * number], Fault("mismatch", frozenset((0,)), ("0", 1))) for number in (1, 2))
    assert (asked(two).named, asked(two).may_be) == (frozenset(), {0})
    assert asked(three).named == {0}


def test_messages_of_a_batch_do_not_wait_for_each_other_and_others_do() -> None:
    ends = [(Message("send", 1), Message("recv", 1)), (Message("send", 0), Message("recv", 0))]
    batched, single = (
        Run(Mesh(1, 2, 1, 1), [[Messages("0", both, batched)] for both in ends], 8, Random(1))
        for batched in (True, False)
    )
    assert batched.ended
    assert single.waits() == {0: {1}, 1: {0}}


def plans() -> Iterator[Plan]:
    for batched in (True, False):
        for sharded in (True, False):
            yield Plan(2, 4, 2, experts=True, routed_by_host=sharded, sharded=sharded, batched=batched, saved=sharded)
    for chunks in (2, 3):
        yield Plan(2, 8, 1, experts=True, routed_by_host=True, sharded=False, batched=False, chunks=chunks)


@pytest.mark.parametrize("plan", list(plans()))
@pytest.mark.parametrize("of", [Mesh(2, 2, 4, 2), Mesh(1, 2, 2, 2), Mesh(2, 2, 1, 4)])
def test_a_job_without_a_fault_comes_to_its_end(plan: Plan, of: Mesh) -> None:
    run = Run(of, [program(of, plan, rank) for rank in range(of.size)], 8, Random(3))
    assert run.ended
    assert not any(run.waits().values())


def test_groups_are_those_of_megatron() -> None:
    of = Mesh(tensor=2, data=2, pipeline=2, expert=4)
    found = {name: group.ranks for name, group in of.of(3).items()}
    assert found == {
        mesh.WORLD: (0, 1, 2, 3, 4, 5, 6, 7), mesh.DATA: (1, 3), mesh.MODEL: (2, 3, 6, 7), mesh.TENSOR: (2, 3),
        mesh.PIPELINE: (3, 7), mesh.EMBEDDING: (3, 7), mesh.STAGE: (0, 1, 2, 3),
        mesh.EXPERT: (0, 1, 2, 3),
    }  # fmt: skip
