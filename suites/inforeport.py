"""The report of `opsdist info`, whether hosts are living or recorded: facts, differences, changes and judgements.

May import: checks, differences, expectation, hostinfo, readiness, views, report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import Any

from suites import hostinfo
from suites.checks import rules
from suites.checks.judging import Limits, judge
from suites.differences import changed, differences
from suites.expectation import Expectation, violations
from suites.hostinfo import Looked, Seen, Wanted
from suites.readiness import readiness
from suites.report import Finding, Report, Status, by_host, now


@dataclass(frozen=True, slots=True)
class Measure:
    """By what hosts are judged: thresholds other than the rules' own, what is expected, and how hosts were earlier."""

    limits: Limits = field(default_factory=dict)
    expectation: Expectation | None = None
    earlier: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def earlier_of(self, looked: Looked) -> Mapping[str, Mapping[str, Any]]:
        """Earlier facts by the names that hosts have now; with one of each, whatever they are called."""
        if len(looked.seen) == len(self.earlier) == 1:
            return {looked.seen[0].name: next(iter(self.earlier.values()))}
        return {**looked.earlier, **self.earlier}

    def unmatched(self, looked: Looked) -> list[Finding]:
        """Which hosts there is nothing to compare with, where hosts are to be compared with how they were."""
        names = [host.name for host in looked.seen]
        if not self.earlier or set(names) <= set(self.earlier):
            return []
        others = ", ".join(list(self.earlier)[:3]) + (" and others" if len(self.earlier) > 3 else "")
        said = (
            "compared with" if set(names) <= set(self.earlier_of(looked)) else "not compared: the earlier looks are of"
        )
        return [
            Finding("since.host", Status.INFO, f"{said} {others}", {"host": name})
            for name in names
            if name not in self.earlier
        ]


def report(
    command: Sequence[str],
    started: datetime,
    looked: Looked,
    measure: Measure,
    wanted: Wanted | None = None,
) -> Report:
    """What was seen of the hosts, with what the rules find, but for what is well; of the devices that were `wanted`."""
    wanted = wanted or Wanted()
    seen = looked.seen
    facts = {host.name: host.facts for host in seen}
    earlier = measure.earlier_of(looked)
    findings = [finding for host in seen for finding in host.findings]
    findings += measure.unmatched(looked)
    judged = judge(facts, rules().values(), measure.limits, earlier)
    findings += [finding for finding in judged if finding.status is not Status.PASS and _about(finding, wanted.devices)]
    if measure.expectation:
        expected = violations(measure.expectation, facts)
        findings += [finding for finding in expected if _about(finding, wanted.devices)]
    result = Report("info", list(command), started, findings=[*findings, *looked.unreached])
    about = by_host(result.findings)
    result.body = {
        "hosts": [{"name": host.name, "facts": _shown(host, wanted, about.get(host.name, []))} for host in seen],
        "readiness": readiness(facts, judged),
        "differences": differences([(host.name, host.facts) for host in seen]),
        "changes": _changes(facts, earlier),
    }
    result.exit_code = 0 if any(hostinfo.known(section) for host in seen for section in host.facts.values()) else 3
    result.ended = now()
    return result


def _shown(host: Seen, wanted: Wanted, findings: Sequence[Finding]) -> dict[str, Any]:
    """The sections that were asked for, and the views of all that was read."""
    kept = {name: facts for name, facts in host.facts.items() if not wanted.sections or name in wanted.sections}
    return {**kept, **{name: _view(name)(host.facts, findings) for name in wanted.views}}


def _view(name: str) -> Callable[[Mapping[str, Any], Sequence[Finding]], Any]:
    module, function = hostinfo.VIEWS[name].split(":")
    view: Callable[[Mapping[str, Any], Sequence[Finding]], Any] = getattr(import_module(module), function)
    return view


def _about(finding: Finding, devices: Sequence[str]) -> bool:
    """Whether it is about one of them; a tool that would not tell keeps from judging any."""
    name = str(finding.subject.get("device", ""))
    named = name in devices or re.sub("^[ng]pu", "", name) in devices
    return not devices or named or finding.check.startswith("tools.")


def _changes(now_: Mapping[str, Any], earlier: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steady facts that are not what they were, of sections that were read both times."""
    return [
        {"host": host, "key": f"{section}.{key}", "before": before, "after": after}
        for host, facts in earlier.items()
        for section in facts
        if section in now_.get(host, {})
        for key, before, after in changed(facts[section], now_[host][section])
    ]
