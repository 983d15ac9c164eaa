"""`python -m tests.suites.diagnose.cases.score [NAME...]`: all cases in all forms, and how many are right."""

from __future__ import annotations

import sys
from collections import Counter

from tests.suites.diagnose.cases.case import grade
from tests.suites.diagnose.cases.forms import FORMS
from tests.suites.diagnose.cases.inputs import CASES


def main(wanted: list[str]) -> None:
    """Prints the score of all cases, or of those whose names begin so."""
    told: Counter[str] = Counter()
    for case in CASES:
        if wanted and not case.name.startswith(tuple(wanted)):
            continue
        for form in FORMS:
            one = grade(case, form)
            if one is None:
                continue
            told["graded"] += 1
            told["right"] += one.right
            told["innocents named"] += len(one.innocent)
            if not one.right:
                print(f"{case.name} [{form}]: {'; '.join(one.wrong)}\n    {one.explanation[:200]}")
    print(", ".join(f"{number} {what}" for what, number in told.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
