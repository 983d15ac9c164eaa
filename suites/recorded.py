"""What `opsdist info` finds on hosts that were recorded: the same facts and rules as on a living one.

May import: probes, hostinfo, fleet, report.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

from probes import PROBES
from probes.recorded import Recorded, open_recorded
from suites import hostinfo
from suites.fleet import differences
from suites.report import Finding, Report, Status, now


def report(command: Sequence[str], sections: Sequence[str], devices: Sequence[str], paths: Sequence[Path]) -> Report:
    """Facts, differences and findings of all hosts that are recorded at `paths`. Raises UsageError for a section or
    device that is not there, and ProbeError for a path at which nothing is recorded."""
    result = Report("info", list(command), now())
    wanted = [name for name in hostinfo.asked(sections, devices) if name in PROBES]
    facts: dict[str, Any] = {}
    earlier: dict[str, Any] = {}
    for recorded in [host for path in paths for host in open_recorded(path)]:
        name = _free(recorded.name, facts)
        facts[name], found = hostinfo.look(name, wanted, devices, recorded.host)
        result.findings += [*_remarks(name, recorded), *found]
        if recorded.earlier:
            earlier[name], _ = hostinfo.look(name, wanted, devices, recorded.earlier)
    hosts = [{"name": name, "facts": facts[name]} for name in facts]
    result.body = {"hosts": hosts, "differences": differences(hosts)}
    result.findings += hostinfo.judged(facts, earlier)
    result.exit_code = 0 if any(hostinfo.known(section) for host in facts.values() for section in host.values()) else 3
    result.ended = now()
    return result


def _free(name: str, taken: Container[str]) -> str:
    """The name, with a number where another host has it."""
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def _remarks(name: str, recorded: Recorded) -> list[Finding]:
    return [Finding("record.file", Status.SKIP, remark, {"host": name}) for remark in recorded.remarks]
