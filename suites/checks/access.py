"""Rules about what this user may see. May import: rule, report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from suites.checks.rule import Case, Judged, Rule, broken
from suites.report import Status

_RIGHTS = re.compile(r"permi(?:ssion|tted)|\broot\b|not allowed|access denied|privileg|authori[sz]ed", re.IGNORECASE)


def _refused(case: Case) -> Iterator[Judged]:
    """One remark for all, by tool, with the question that was refused first."""
    by_tool: dict[str, list[Mapping[str, Any]]] = {}
    for reading in _readings(case.facts):
        if reading["state"] == "refused" and _RIGHTS.search(reading["reason"] or ""):
            by_tool.setdefault(reading["source"].split()[0], []).append(reading)
    if by_tool:
        told = "; ".join(f"{len(asked)} questions to {tool}" for tool, asked in sorted(by_tool.items()))
        first = next(iter(by_tool.values()))[0]
        evidence = {"command": first["source"], "line": first["reason"]}
        yield broken(f"this user was refused, and root would be told: {told}", evidence)


def _readings(facts: Any) -> Iterator[Mapping[str, Any]]:
    """All of them, wherever they are in the facts."""
    if isinstance(facts, Mapping):
        if "state" in facts and "source" in facts and "reason" in facts:
            yield facts
        else:
            for part in facts.values():
                yield from _readings(part)
    elif isinstance(facts, list):
        for part in facts:
            yield from _readings(part)


RULES = (
    Rule(
        name="access.refused",
        summary="this user may see all that opsdist asks for",
        why="Some tools answer only root: hccn_tool, capabilities in lspci, and the kernel's log on many systems. What "
        "they would have told was not judged.",
        remedy="run `opsdist info` as root, or have root run `opsdist info --record DIR` for `--from DIR`",
        status=Status.INFO,
        needs=("accelerators", "log", "pcie"),
        judge=_refused,
    ),
)
