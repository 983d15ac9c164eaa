"""The rules by which `opsdist info` and `opsdist suite node` judge hosts: one file a subject, each with its RULES.

SUBJECTS are the files, in the order in which people read findings. May import: nothing before rules are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suites.checks.rule import Rule

SUBJECTS: tuple[str, ...] = (
    "suites.checks.memory",
    "suites.checks.limits",
    "suites.checks.cgroup",
    "suites.checks.backends",
    "suites.checks.ascend_port",
)


def rules() -> dict[str, Rule]:
    """All rules by name, in their order."""
    return {rule.name: rule for subject in SUBJECTS for rule in import_module(subject).RULES}
