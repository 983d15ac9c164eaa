"""The engine on dumps of made-up jobs of every class and layout, whole and damaged; a slice of what grading.py does."""

from __future__ import annotations

import pytest

from tests.made_up.hangs.grading import FORMS, cut, grade, jobs, without
from tests.made_up.hangs.job import Job

JOBS = list(jobs((2, 4)))
ONE = [pytest.param(label, made, id=label) for label, made in JOBS]


@pytest.mark.parametrize(("label", "made"), ONE)
def test_class_ranks_and_collective_are_right(label: str, made: Job) -> None:
    for how in FORMS:
        one = grade(label, made, **how)
        assert one.right, (how, one.verdict["class"], one.verdict["explanation"])


@pytest.mark.parametrize(("label", "made"), ONE[::3])
def test_with_one_dump_gone_or_cut_nobody_innocent_is_named_and_no_culprit_is_lost(label: str, made: Job) -> None:
    for rank in range(made.size):
        for harm in (without(rank), cut(rank)):
            one = grade(label, made, harm)
            assert not one.innocent, one.verdict["explanation"]
            assert not one.lost, one.verdict["explanation"]
