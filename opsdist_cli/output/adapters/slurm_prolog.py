"""As Slurm's Prolog: an exit other than 0 drains the node and has the job wait, so only what is certain counts.

Warnings, and what could not be found out, let the job run. The line begins with a leader of its own, so that whoever
clears a node's reason knows whose it is. May import: from this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.adapters.words import bad, cut, short

_LEADER = "OPSDIST: [node_problem] "
_LONGEST = 190
"""Reasons of nodes are shown in tables, and cut there."""


def render(record: Mapping[str, Any]) -> str:
    found = _certain(record)
    if not found:
        return ""
    more = f" (+{len(found) - 1})" if len(found) > 1 else ""
    return _LEADER + cut(short(found[0], record), _LONGEST - len(_LEADER) - len(more)) + more + "\n"


def exit_code(record: Mapping[str, Any]) -> int:
    return 1 if _certain(record) else 0


def _certain(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Failures, and tools that hang, as a job would in the same driver."""
    return [each for each in bad(record) if each["status"] == "fail" or each["check"] == "tools.hung"]
