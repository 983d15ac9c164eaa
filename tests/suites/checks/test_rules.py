"""Every rule has what `opsdist checks` tells of it."""

from __future__ import annotations

from importlib import import_module

import pytest

from suites.checks import SUBJECTS, rules
from suites.checks.rule import Rule
from suites.hostinfo import SECTIONS
from suites.report import Status

ALL = [rule for subject in SUBJECTS for rule in import_module(subject).RULES]


def test_names_are_unique_and_belong_to_their_file() -> None:
    assert len(rules()) == len(ALL)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_a_rule_explains_itself(rule: Rule) -> None:
    subject, _, what = rule.name.partition(".")
    assert subject
    assert what
    assert len(rule.summary) <= 80
    assert not rule.summary.endswith(".")
    assert len(rule.why) > 30
    assert rule.why.endswith((".", "'", ")"))
    assert len(rule.remedy) > 10
    assert rule.status in (Status.FAIL, Status.WARN, Status.INFO)
    assert set(rule.needs) <= set(SECTIONS)
    assert rule.needs or subject == "tools"
    assert all(threshold.source for threshold in rule.thresholds.values())
