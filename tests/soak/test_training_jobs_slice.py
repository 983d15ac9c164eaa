"""A slice of what is said of training jobs: each fault, in every form of dumps."""

from __future__ import annotations

import pytest

from tests.made_up.training.grading import grade
from tests.made_up.training.job import job
from tests.made_up.training.wanted import FORMS
from tests.soak.training_jobs import main

pytestmark = pytest.mark.any_engine

SEEDS = range(24, 44)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_can_be_seen_is_said_and_nobody_innocent_is_named(seed: int) -> None:
    made = job(seed)
    for form in FORMS:
        one = grade(made, form)
        if one is not None:
            assert not one.innocent, (form.name, str(one))
            assert one.right, (form.name, str(one))


def test_the_score_is_told_by_fault_and_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--jobs", "2", "--seed", "40"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split("  ")[-1] == "victim's gone"
    assert [row.split("  ")[0] for row in rows[:-1]] == ["none", "host stops", "all"]
    assert rows[-1].startswith("less than the truth was asked: ")
