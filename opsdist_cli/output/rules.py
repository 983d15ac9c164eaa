"""Rules as text for people: one a line, or all that one of them has to say. May import: from this package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from opsdist_cli.output.layout import pairs, wrapped

if TYPE_CHECKING:
    from suites.checks.rule import Rule, Threshold


_SCOPES = {"host": "one host", "snapshots": "a host now and earlier", "fleet": "all hosts together"}


def listed(rules: Iterable[Rule]) -> str:
    """Name, what it is when broken, and what it checks."""
    rows = list(rules)
    width = max(len(rule.name) for rule in rows)
    return "\n".join(f"{rule.name:<{width}}  {rule.status!s:<4}  {rule.summary}" for rule in rows)


def explained(rule: Rule) -> str:
    lines = [rule.name, *wrapped(rule.summary, "  ", "  "), "", "why", *wrapped(rule.why, "  ", "  "), ""]
    lines += pairs([
        ("when broken", str(rule.status)),
        ("looks at", _SCOPES[rule.scope]),
        ("reads", ", ".join(rule.needs) or "every section that is there"),
    ])  # fmt: skip
    for name, threshold in rule.thresholds.items():
        lines += wrapped(_threshold(name, threshold), "  ", "      ")
    return "\n".join([*lines, "", "what to do", *wrapped(rule.remedy, "  ", "  ")])


def _threshold(name: str, threshold: Threshold) -> str:
    return f"threshold {name} = {threshold.value} {threshold.unit} ({threshold.source})"
