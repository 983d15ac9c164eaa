"""Rules about the tools that were asked: that they end, that they tell something, that this user may ask them.

What they would have told was not judged then, so "nothing was found" says nothing. May import: readings, rule, report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from suites.checks.readings import Reading
from suites.checks.rule import Case, Facts, Judged, Outcome, Rule, broken, ok, unknown
from suites.report import Status

VENDORS = {
    "npu-smi": "ascend", "hccn_tool": "ascend",
    "nvidia-smi": "nvidia", "dcgmi": "nvidia",
    "amd-smi": "amd", "rocm-smi": "amd",
}  # fmt: skip
"""The tools without which it is not known what accelerators there are, and how they are."""

_STUCK = "`ps -eo pid,stat,wchan:32,cmd | grep ' D'` shows what is stuck in the kernel"
_WEDGED = {
    "ascend": "stop the jobs on this host and boot it, since a wedged driver cannot be unloaded; see drv_ lines in "
    f"dmesg; {_STUCK}",
    "nvidia": f"drain the host and boot it; see NVRM lines in dmesg; {_STUCK}",
    "amd": f"drain the host and boot it; see amdgpu lines in dmesg; {_STUCK}",
}
"""Vendor -> what to do when its driver is why a tool does not end."""

_TREES = (dict, list)
_BAD_END = re.compile(r"\((?:exit status|killed by) \S+\)$")
_RIGHTS = re.compile(r"permi(?:ssion|tted)|\broot\b|not allowed|access denied|privileg|authori[sz]ed", re.IGNORECASE)


def _hung(case: Case) -> Iterator[Judged]:
    """One judgement for each tool. After the first question that hung a tool was not asked any more."""
    asked = _by_tool(case.facts)
    for tool, readings in asked.items():
        late = [reading for reading in readings if reading["state"] == "late"]
        first = next((reading for reading in late if not str(reading["reason"]).startswith("not asked")), None)
        if late:
            reading = first or late[0]
            evidence = {"command": reading["source"], "value": reading["reason"]}
            message = f"{tool} hung: `{reading['source']}`: {reading['reason']}"
            yield Judged(Outcome.ERROR, message, evidence, remedy=_WEDGED.get(VENDORS.get(tool, "")))
        elif any(reading["state"] == "told" for reading in readings):
            yield ok()


def _failed(case: Case) -> Iterator[Judged]:
    """A tool of which no answer was understood. An error is only the bad end of one without which accelerators are
    unknown; what ended well may be what somebody has recorded of it, and cut."""
    for tool, readings in _by_tool(case.facts).items():
        states = {reading["state"] for reading in readings}
        if "told" in states:
            yield ok()
        elif "failed" in states:
            reading = next(reading for reading in readings if reading["state"] == "failed")
            evidence = {"command": reading["source"], "line": reading["reason"]}
            message = f"{tool} is here and told nothing that can be understood: {reading['reason']}"
            needed = tool in VENDORS and _BAD_END.search(reading["reason"] or "")
            yield Judged(Outcome.ERROR, message, evidence) if needed else unknown(message, evidence)


def _taken(case: Case) -> Iterator[Judged]:
    """One judgement for all of them."""
    taken = [
        reading for readings in _by_tool(case.facts).values() for reading in readings if reading["state"] == "taken"
    ]
    if taken:
        message = f"{_questions(len(taken), 'tools')} were not asked: {taken[0]['reason']}"
        yield Judged(Outcome.ERROR, message, {"command": taken[0]["source"]})


def _refused(case: Case) -> Iterator[Judged]:
    """One remark for all, by tool, with the question that was refused first."""
    refused = {
        tool: rights
        for tool, readings in sorted(_by_tool(case.facts).items())
        if (rights := [reading for reading in readings if _needs_rights(reading)])
    }
    if refused:
        told = "; ".join(_questions(len(readings), tool) for tool, readings in refused.items())
        first = next(iter(refused.values()))[0]
        evidence = {"command": first["source"], "line": first["reason"]}
        yield broken(f"this user was refused, and root would be told: {told}", evidence)


def _questions(count: int, tool: str) -> str:
    return f"{count} question{'s' * (count != 1)} to {tool}"


def _needs_rights(reading: Reading) -> bool:
    return reading["state"] == "refused" and bool(_RIGHTS.search(reading["reason"] or ""))


def _by_tool(facts: Facts) -> dict[str, list[Reading]]:
    """Program -> its readings, wherever they are in the facts; files are no tools."""
    found: dict[str, list[Reading]] = {}
    _collect(facts, found)
    return found


def _collect(part: Any, found: dict[str, list[Reading]]) -> None:
    if type(part) is dict:
        if "state" in part and "source" in part and "reason" in part:
            tool = part["source"].partition(" ")[0]
            if tool[:1] != "/":
                found.setdefault(tool, []).append(part)
            return
        part = part.values()
    for each in part:
        if type(each) in _TREES:
            _collect(each, found)


RULES = (
    Rule(
        name="tools.hung",
        summary="every tool that was asked ends in time",
        why="Tools of vendors wait for their driver; when it is wedged they never end, and neither does what uses the "
        "devices. A tool that hung is not asked again, so the rest of what it tells is unknown.",
        remedy=f"run the command by hand; {_STUCK}",
        status=Status.FAIL,
        needs=(),
        judge=_hung,
    ),
    Rule(
        name="tools.failed",
        summary="tools that are here tell something that can be understood",
        why="A tool that crashes or says something unheard of does not mean that there are no devices: how they are is "
        "not known.",
        remedy="run the command by hand; install the package again that it is from, in the version of the driver; if "
        "it does tell something there, report its output, so that opsdist learns to read it",
        status=Status.FAIL,
        needs=(),
        judge=_failed,
    ),
    Rule(
        name="tools.taken",
        summary="the tools of this host are free to be asked",
        why="Tools of vendors answer wrongly or not at all when they are asked twice at a time, so opsdist asks one at "
        "a time on a host, under a lock on the folder /, and waits for whoever holds it.",
        remedy="see by `lslocks` or `fuser -v /` who holds it: another opsdist that waits for a tool; let it end, or "
        "end it, and look again",
        status=Status.FAIL,
        needs=(),
        judge=_taken,
    ),
    Rule(
        name="tools.refused",
        summary="this user may see all that opsdist asks for",
        why="Some tools answer only root: hccn_tool, capabilities in lspci, and the kernel's log on many systems. What "
        "they would have told was not judged.",
        remedy="run `opsdist info` as root, or have root run `opsdist info --record DIR` for `--from DIR`",
        status=Status.INFO,
        needs=(),
        judge=_refused,
    ),
)
