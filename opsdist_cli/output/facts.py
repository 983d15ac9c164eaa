"""The record of `opsdist info` as text for people: backends first, then the sections, findings and the verdict.

Pure: a record in, text out. What is unknown says so, with the reason where the facts give one.
May import: from this package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import ranges, table, wrapped
from opsdist_cli.output.places import alike, where
from opsdist_cli.output.sections import section_text
from suites.hostinfo import known
from suites.launch.lists.nodeset import fold

_DEVICE = re.compile(r"accelerators\.(\w+)\.devices\.(\w+)")
_WITH_REASON = ("tools.failed", "expect.unknown")
"""What was not judged, and of which more is said than that."""
_SEVERITY = ("error", "fail", "warn", "info", "skip", "pass")


def render(record: Mapping[str, Any]) -> str:
    """The whole text, without a line end after the last line, which is the verdict."""
    hosts = record["hosts"]
    names = fold([host["name"] for host in hosts]) if hosts else "no host"
    lines = [*wrapped(f"# opsdist {record['opsdist']} info on {names}", "", "  "), ""]
    lines += _readiness(record["readiness"], len(hosts))
    named = dict.fromkeys(section for host in hosts for section in host["facts"])
    sections = sorted(named, key=lambda name: name != "backends")
    told = [name for name in sections if any(known(host["facts"].get(name)) for host in hosts)]
    for section in told:
        lines += _section(section, hosts)
    if silent := [name for name in sections if name not in told]:
        lines += [*wrapped(", ".join(silent), "nothing was told of ", "  "), ""]
    dumb = [host["name"] for host in hosts if not any(map(known, host["facts"].values()))]
    if dumb and len(hosts) > 1:
        lines += [*wrapped(fold(dumb).replace(",", ", "), "nothing was told by ", "  "), ""]
    if record["differences"]:
        lines += ["differences", *_differences(record["differences"]), ""]
    if record["changes"]:
        lines += ["changes", *_changes(record["changes"]), ""]
    found = sorted(record["findings"], key=lambda finding: _SEVERITY.index(finding["status"]))
    for same in alike(finding for finding in found if not _is_unjudged(finding)):
        lines += _finding(same, several=len(hosts) > 1)
    lines += _unjudged([finding for finding in found if _is_unjudged(finding)])
    lines += [""] * bool(found)
    return "\n".join([*lines, verdict(record)])


def _readiness(rows: Sequence[Mapping[str, Any]], hosts: int) -> list[str]:
    """Which backend can run on what, first of all."""
    if not rows:
        return []
    header = ["backend", "devices", "links", "state"]
    body = [[row["backend"], row["devices"], row["link"], row["state"] + _because(row)] for row in rows]
    if hosts > 1:
        header = ["hosts", *header]
        # The blanks are where a long list wraps.
        body = [[fold(row["hosts"]).replace(",", ", "), *cells] for row, cells in zip(rows, body, strict=True)]
    return ["readiness", *table(header, body), ""]


def _because(row: Mapping[str, Any]) -> str:
    return f": {row['why']}" if row["why"] else ""


def _section(section: str, hosts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Hosts of which all is the same to the reader share one text."""
    alike: dict[tuple[str, ...], list[str]] = {}
    first: Any = None
    text_of_first: tuple[str, ...] = ()
    for host in (host for host in hosts if section in host["facts"]):
        facts = host["facts"][section]
        text = text_of_first if first is not None and facts == first else tuple(section_text(section, facts))
        first, text_of_first = (facts, text) if first is None else (first, text_of_first)
        alike.setdefault(text, []).append(host["name"])
    lines: list[str] = []
    for text, names in alike.items():
        whose = "" if len(names) == len(hosts) else f" on {fold(names)}"
        lines += [f"{section}{whose}", *text, ""]
    return lines


def _changes(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is not as it was."""
    lines = []
    for entry in found:
        said = f"{entry['host']}: {entry['key']}: {_value(entry['before'])} -> {_value(entry['after'])}"
        lines += wrapped(said, "  ", "      ")
    return lines


def _differences(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Who has something else than most. Facts of several devices that differ alike are one line."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for entry in found:
        by_value: dict[str, list[str]] = {}
        for name, value in entry["outliers"].items():
            by_value.setdefault(_value(value), []).append(name)
        others = "; ".join(f"{fold(names)}: {value}" for value, names in by_value.items())
        usual = "" if entry["majority"] is None else f" (most: {_value(entry['majority'])})"
        alike.setdefault((re.sub(r"\d+", "#", entry["key"]), usual, others), []).append(_called(entry["key"]))
    lines = []
    for (_, usual, others), names in alike.items():
        lines += wrapped(f"{_several(names)}{usual}: {others}", "  ", "      ")
    return lines


def _called(key: str) -> str:
    """The path of a fact, without what every reading has in it."""
    key = _DEVICE.sub(lambda match: f"{'npu' if match[1] == 'ascend' else 'gpu'}{match[2]}", key)
    return (
        key.removeprefix("accelerators.").replace(".readings.", " ").replace("readings.", "").replace(".values.", ".")
    )


def _several(keys: Sequence[str]) -> str:
    """Keys that differ by one number only, as one."""
    if len(keys) == 1:
        return keys[0]
    parts = [re.split(r"(\d+)", key) for key in keys]
    varying = [place for place in range(len(parts[0])) if len({part[place] for part in parts}) > 1]
    if len(varying) > 1:
        return f"{keys[0]} and {len(keys) - 1} like it"
    place = varying[0]
    numbers = ranges(sorted(int(part[place]) for part in parts))
    return "".join([*parts[0][:place], f"[{numbers}]", *parts[0][place + 1 :]])


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


def _finding(same: Sequence[Mapping[str, Any]], several: bool) -> list[str]:
    """What is wrong and where, what shows it (on the first of the hosts), and what to do."""
    finding = same[0]
    head = f"{finding['status']:<5}  "
    margin = " " * len(head)
    place = where(same, several)
    lines = wrapped(f"{finding['check']}{f' on {place}' if place else ''}: {finding['message']}", head, margin)
    if shown := _evidence(finding["evidence"]):
        lines += wrapped(shown, f"{margin}   ", f"{margin}   ")
    if finding["remedy"]:
        lines += wrapped(finding["remedy"], f"{margin}-> ", f"{margin}   ")
    return lines


def _evidence(evidence: Mapping[str, Any]) -> str:
    """The command or file, and the line in it."""
    source = evidence.get("command") or evidence.get("file")
    line = evidence.get("line")
    if not source or not line:
        return f"see `{source}`" if source else ""
    return f"`{source}`: " + " ".join(line.split())


def _is_unjudged(finding: Mapping[str, Any]) -> bool:
    return finding["status"] == "skip" and finding["check"] not in _WITH_REASON


def _unjudged(skipped: Sequence[Mapping[str, Any]]) -> list[str]:
    """What nobody could tell, on one line: the reasons are in the record."""
    names = list(dict.fromkeys(finding["check"] for finding in skipped))
    return wrapped(", ".join(names), "skip   not judged, since too little was told: ", "       ") if names else []
