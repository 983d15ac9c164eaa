"""One rule applied to facts, as the tests of rules use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suites.checks import rules
from suites.checks.judging import judge
from suites.report import Finding, Status


def ruled(
    name: str, facts: Mapping[str, Any], *, earlier: Mapping[str, Any] | None = None, **limits: object
) -> list[Finding]:
    """What the rule finds on a host `h` with these facts, by default by its own thresholds; passes included."""
    return judge({"h": facts}, [rules()[name]], {name: limits}, {"h": earlier} if earlier is not None else None)


def fleet(name: str, **hosts: Mapping[str, Any]) -> list[Finding]:
    """What the rule finds on these hosts."""
    return judge(hosts, [rules()[name]], {})


def statuses(findings: list[Finding]) -> list[Status]:
    return [finding.status for finding in findings]
