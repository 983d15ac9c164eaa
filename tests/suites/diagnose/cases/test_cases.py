"""Every case in every form it comes in gets the right answer: class, culprits, collective, initiating line; and nobody
else is ever named."""

from __future__ import annotations

import pytest

from tests.suites.diagnose.cases.case import Case, grade
from tests.suites.diagnose.cases.forms import FORMS
from tests.suites.diagnose.cases.inputs import CASES


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name.replace(" ", "_")) for case in CASES])
def test_the_answer_is_right_in_every_form(case: Case) -> None:
    wrong = {
        form: (*found.wrong, found.explanation)
        for form in FORMS
        if (found := grade(case, form)) is not None and not found.right
    }
    assert not wrong


def test_names_are_of_one_case_each() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
