"""Rules applied to facts: findings come out.

A rule that raises is a mistake of opsdist, said as an error finding; the other rules go on. Devices are named as people
name them: an accelerator by its label, also where a rule knows but its PCI address.
May import: causes, readings, rule, report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from suites.checks.causes import attributed
from suites.checks.readings import VENDORS, devices, label
from suites.checks.rule import Case, Facts, Judged, Outcome, Rule, Scope
from suites.report import Finding, Status

Limits = Mapping[str, Mapping[str, Any]]
"""rule -> threshold -> value, for those that are not the rule's own."""


def judge(
    hosts: Mapping[str, Facts], rules: Iterable[Rule], limits: Limits, earlier: Mapping[str, Facts] | None = None
) -> list[Finding]:
    """Findings of all rules on all hosts, in the order of the rules, each fault once (`causes`). `earlier` has hosts as
    they were before."""
    found: list[Finding] = []
    for rule in rules:
        set_limits = {name: threshold.value for name, threshold in rule.thresholds.items()}
        set_limits |= limits.get(rule.name, {})
        for host, case in _cases(rule, hosts, set_limits, earlier or {}):
            found += _findings(rule, host, case)
    return attributed(found)


def _cases(
    rule: Rule, hosts: Mapping[str, Facts], limits: Mapping[str, Any], earlier: Mapping[str, Facts]
) -> Iterator[tuple[str | None, Case]]:
    able = {name: facts for name, facts in hosts.items() if all(section in facts for section in rule.needs)}
    match rule.scope:
        case Scope.HOST:
            yield from ((name, Case(facts, limits)) for name, facts in able.items())
        case Scope.SNAPSHOTS:
            told = {name: facts for name, facts in earlier.items() if all(section in facts for section in rule.needs)}
            yield from ((name, Case(able[name], limits, told[name])) for name in able if name in told)
        case Scope.FLEET:
            if able:
                yield None, Case({}, limits, fleet=able)


def _findings(rule: Rule, host: str | None, case: Case) -> list[Finding]:
    try:
        said = list(rule.judge(case))
    except Exception as error:
        message = f"the rule could not judge: {type(error).__name__}: {error}"
        return [Finding(rule.name, Status.ERROR, message, _subject(host), "a mistake of opsdist, please report it")]
    bad = [judged for judged in said if judged.outcome in (Outcome.BROKEN, Outcome.ERROR)]
    found = [_finding(rule, host, case, judged) for judged in bad]
    found += _unknown(rule, host, [judged for judged in said if judged.outcome is Outcome.UNKNOWN])
    passed = sum(judged.outcome is Outcome.OK for judged in said)
    if passed and not bad:
        of = f" ({passed} checked)" if passed > 1 else ""
        found.append(Finding(rule.name, Status.PASS, rule.summary + of, _subject(host)))
    return found


def _finding(rule: Rule, host: str | None, case: Case, judged: Judged) -> Finding:
    status = Status.ERROR if judged.outcome is Outcome.ERROR else judged.status or rule.status
    remedy = rule.remedy if judged.remedy is None else judged.remedy
    name = _label(case, judged) or judged.device
    evidence = judged.evidence if name == judged.device else {**judged.evidence, "bus": judged.device}
    return Finding(rule.name, status, judged.message, _subject(judged.host or host, name), remedy, evidence)


def _label(case: Case, judged: Judged) -> str | None:
    """The accelerator that is at this PCI address; of one that is gone, that was there, or is there on other hosts."""
    of_host = case.fleet.get(judged.host or "", case.facts)
    for facts in (of_host, case.earlier, *case.fleet.values()):
        for vendor in VENDORS:
            for device in devices(facts, vendor):
                if judged.device is not None and device["bus"] == judged.device:
                    return label(vendor, device)
    return None


def _unknown(rule: Rule, host: str | None, said: Sequence[Judged]) -> list[Finding]:
    """One finding a reason, however many devices it stands for."""
    reasons: dict[tuple[str | None, str], list[Judged]] = {}
    for judged in said:
        reasons.setdefault((judged.host or host, judged.message), []).append(judged)
    found = []
    for (where, reason), alike in reasons.items():
        names = ", ".join(one.device for one in alike if one.device)
        message = f"{names}: {reason}" if names else reason
        found.append(Finding(rule.name, Status.SKIP, message, _subject(where), None, alike[0].evidence))
    return found


def _subject(host: str | None, device: str | None = None) -> dict[str, Any]:
    return {key: value for key, value in (("host", host), ("device", device)) if value is not None}
