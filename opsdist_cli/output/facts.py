"""The record of `opsdist info` as text for people: backends first, then the sections, findings and the verdict.

Pure: a record in, text out. What is unknown says so, with the reason where the facts give one.
May import: from this package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import wrapped
from opsdist_cli.output.sections import section_text
from suites.launch.lists.nodeset import fold

_SEVERITY = ("error", "fail", "warn", "info", "skip", "pass")


def render(record: Mapping[str, Any]) -> str:
    """The whole text, without a line end after the last line, which is the verdict."""
    hosts = record["hosts"]
    names = fold([host["name"] for host in hosts]) if hosts else "no host"
    lines = [*wrapped(f"# opsdist {record['opsdist']} info on {names}", "", "  "), ""]
    for section in sorted(hosts[0]["facts"] if hosts else (), key=lambda name: name != "backends"):
        lines += _section(section, hosts)
    if record["differences"]:
        lines += ["differences", *_differences(record["differences"]), ""]
    findings = sorted(record["findings"], key=lambda finding: _SEVERITY.index(finding["status"]))
    for finding in findings:
        lines += _finding(finding)
    lines += [""] * bool(findings)
    return "\n".join([*lines, verdict(record)])


def _section(section: str, hosts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Hosts of which all is the same to the reader share one text."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for host in hosts:
        if section in host["facts"]:
            alike.setdefault(tuple(section_text(section, host["facts"][section])), []).append(host["name"])
    lines: list[str] = []
    for text, names in alike.items():
        whose = "" if len(names) == len(hosts) else f" on {fold(names)}"
        lines += [f"{section}{whose}", *text, ""]
    return lines


def _differences(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Who has something else than most."""
    lines = []
    for entry in found:
        by_value: dict[str, list[str]] = {}
        for name, value in entry["outliers"].items():
            by_value.setdefault(_value(value), []).append(name)
        others = "; ".join(f"{fold(names)}: {value}" for value, names in by_value.items())
        usual = "" if entry["majority"] is None else f" (most: {_value(entry['majority'])})"
        lines += wrapped(f"{entry['key']}{usual}: {others}", "  ", "      ")
    return lines


def _value(value: Any) -> str:
    return "unknown" if value is None else value if isinstance(value, str) else json.dumps(value)


def verdict(record: Mapping[str, Any]) -> str:
    """One line: what was read, and what was found."""
    found = [finding["status"] for finding in record["findings"]]
    counts = [f"{found.count(status)} {status}" for status in _SEVERITY if status in found]
    if record["exit_code"]:
        return ", ".join(["info: nothing could be read", *counts])
    sections = max(len(host["facts"]) for host in record["hosts"])
    on = f" on {len(record['hosts'])} hosts" if len(record["hosts"]) > 1 else ""
    read = f"info: {sections} section{'s' * (sections != 1)} read{on}"
    return ", ".join([read, *(counts or ["nothing to remark"])])


def _finding(finding: Mapping[str, Any]) -> list[str]:
    head = f"{finding['status']:<5}  "
    margin = " " * len(head)
    remedy = wrapped(finding["remedy"], f"{margin}-> ", f"{margin}   ") if finding["remedy"] else []
    return [*wrapped(f"{finding['check']}: {finding['message']}", head, margin), *remedy]
