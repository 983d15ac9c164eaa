"""What the hosts of a fleet are, as one report: every host is asked by its agent, and where they differ is said.

A host that cannot be reached is a finding, and the others are reported all the same.
May import: hostinfo, launch.crew, report.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from suites import hostinfo
from suites.launch.crew import Crew
from suites.launch.job import Output
from suites.report import Finding, Report, Status
from suites.verdict import words

LOOK_SECONDS = 30.0
"""For all probes of a host; some start the tools of vendors."""
_OWN = frozenset({
    "available_bytes", "swap_free_bytes", "shm_free_bytes", "huge_pages_free", "free_bytes", "memory_current_bytes",
    "usage_bytes", "address", "addresses", "pci_slot", "path",
})  # fmt: skip
"""Facts that every host has for itself, or that change from moment to moment: no difference to speak of."""


@dataclass(slots=True)
class Survey:
    """One look at all hosts of a crew. Use: take all of `events`, then `report`."""

    command: Sequence[str]
    sections: Sequence[str]
    devices: Sequence[str]
    crew: Crew
    started: datetime

    def events(self, timeout: float) -> Iterator[Output]:
        """Reach the hosts and have them look. Raises UsageError before anything starts."""
        hostinfo.asked(self.sections, self.devices)
        yield from self.crew.greet(timeout)
        question = {"type": "look", "sections": list(self.sections), "devices": list(self.devices)}
        yield from self.crew.ask("look", [{**question, "name": name} for name in self.crew.names], LOOK_SECONDS)

    def report(self) -> Report:
        result = Report("info", list(self.command), self.started)
        hosts = []
        for name, answer in zip(self.crew.names, self.crew.answers, strict=True):
            if answer:
                hosts.append({"name": name, "facts": answer["facts"]})
                result.findings += [
                    Finding(**{**found, "status": Status(found["status"])}) for found in answer["findings"]
                ]
        result.findings += hostinfo.judged({host["name"]: host["facts"] for host in hosts})
        for fault in self.crew.faults:
            remedy = "; ".join(fault.notes) or None
            subject = {"host": fault.host}
            result.findings.append(Finding("fleet.reach", Status.ERROR, words(fault), subject=subject, remedy=remedy))
        result.body = {"hosts": hosts, "differences": differences(hosts)}
        result.exit_code = 0 if hosts else 3
        return result


def differences(hosts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The facts in which hosts differ, by their path: what more than half of them have (else null), and who has
    something else."""
    found = []
    flat = {host["name"]: dict(_flat(host["facts"])) for host in hosts}
    for key in sorted({key for facts in flat.values() for key in facts}):
        values = {name: facts.get(key) for name, facts in flat.items()}
        texts = {name: json.dumps(value, sort_keys=True) for name, value in values.items()}
        text, most = Counter(texts.values()).most_common(1)[0]
        if most == len(hosts):
            continue
        usual = text if 2 * most > len(hosts) else None
        outliers = {name: values[name] for name in values if texts[name] != usual}
        found.append({"key": key, "majority": json.loads(usual) if usual else None, "outliers": outliers})
    return found


def _flat(facts: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every fact with its path. Elements of a list that have a name or an id are told apart by it."""
    if isinstance(facts, Mapping):
        for key, value in facts.items():
            if key not in _OWN:
                yield from _flat(value, f"{path}.{key}" if path else key)
    elif mark := _mark(facts):
        for item in facts:
            yield from _flat({key: value for key, value in item.items() if key != mark}, f"{path}.{item[mark]}")
    else:
        yield path, facts


def _mark(facts: Any) -> str | None:
    """By what the elements of a list are told apart."""
    if not isinstance(facts, list) or not facts or not all(isinstance(item, Mapping) for item in facts):
        return None
    return next((mark for mark in ("name", "id") if all(mark in item for item in facts)), None)
