"""A slice of what is said of training jobs: two of each fault, in every form of dumps."""

from __future__ import annotations

import pytest

from tests.made_up.training.faults import FAULTS
from tests.made_up.training.grading import grade
from tests.made_up.training.job import job
from tests.made_up.training.wanted import FORMS

pytestmark = pytest.mark.any_engine

FIRST = 24
OPEN = {("device hangs", "timing"), ("two devices hang", "timing")}
"""Starts are told, and not judged by: who has not started a call that others have is not named yet."""


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 2 * len(FAULTS)))
def test_what_can_be_seen_is_said_and_nobody_innocent_is_named(seed: int) -> None:
    made = job(seed)
    for form in FORMS:
        one = grade(made, form)
        if one is not None:
            assert not one.innocent, (form.name, str(one))
            assert one.right or (made.fault, form.name) in OPEN, (form.name, str(one))
