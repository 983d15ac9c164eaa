"""Tasks of collectives that failed: which call, in which communicator, and for whom it waits.

EI0002 says it in one line; a plog in up to four (`base`, `para`, `groupRank`, `opData information`), in any order after
the first, and of a graph on the NPU in one more (HCCL's task_exception_handler.cc). Newer NPUs write `name:value` for
`name[value]`.
May import: facts, line, hccl_links, hccl_speech, operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from suites.diagnose.evidence.hccl_links import operation_of
from suites.diagnose.evidence.hccl_speech import Processes, communicator_of, group_of, member, number, seconds, speaker
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.operations import EQUAL_INPUTS
from suites.diagnose.facts import Call, Fact, Group, Signature, Waiting, Who

_PIECES = {
    "tag": re.compile(r"\btag(?: ?\[|:(?!\[))([^\],]{0,300})"),
    "type": re.compile(r"(?:taskType ?\[|\btype:)([^\],]{1,60})"),
    "remote": re.compile(r"remote ?[rR]ank(?: ?:? ?\[(?=\w{1,20}\])|:(?=\w))(\w{1,20})", re.IGNORECASE),
    "group": re.compile(r"\bgroup:\[?([^\],\s]{1,200})"),
    "size": re.compile(r"rankSize[\[:](\d{1,7})"),
    "rank": re.compile(r"(?:rankId|localRank)[\[:](\d{1,10})"),
    "index": re.compile(r"\b(?:opI|i)ndex[\[:](\d{1,15})"),
    "count": re.compile(r"\bcount\[(\d{1,18})\]"),
    "operator": re.compile(r"reduceType\[(\w{1,20})\]"),
    "dtype": re.compile(r"dataType\[(\w{1,20})\]"),
    "device": re.compile(r"deviceI[dD]:?\[(\d{1,5})\]"),
    "time": re.compile(r"timeStamp:\[([\d.: \-]{10,40})\]"),
    "stage": re.compile(r"\bstage:\[(\w{1,20})\]"),
}
_PARTS = ("base information", "para information", "groupRank information", "opData information")
_OPERATION = "op information"
"""What comes before them where a task is a part of a graph on the NPU (FFTS+)."""
_MESSAGES = frozenset(("send", "recv", "batch_send_recv"))
_EQUAL_COUNTS = EQUAL_INPUTS | {"reduce_scatter", "alltoall"}
"""Collectives for which the count must be the same on all ranks."""


@dataclass(slots=True)
class _Task:
    line: Line
    told: dict[str, str] = field(default_factory=dict)
    parts: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Tasks:
    """Puts the lines of a failed task together, by process."""

    _open: dict[Who, _Task] = field(default_factory=dict)

    def coded(self, line: Line, processes: Processes) -> Iterable[Fact]:
        """All in one line."""
        if "information" in line.text or "emote rank" in line.text:
            task = _Task(line)
            _take(task, line)
            yield from _facts(task, processes)

    def part(self, line: Line, processes: Processes) -> Iterable[Fact]:
        """One of several lines."""
        part = next((part for part in (_OPERATION, *_PARTS) if part in line.text), None)
        if part is None:
            return
        task = self._open.get(line.who)
        if part == _OPERATION or task is None or part in task.parts:
            if task is not None:
                yield from _facts(task, processes)
            task = self._open[line.who] = _Task(line)
        _take(task, line)
        task.parts.add(part)
        if task.parts >= set(_PARTS):
            del self._open[line.who]
            yield from _facts(task, processes)

    def end(self, processes: Processes) -> Iterator[Fact]:
        for task in self._open.values():
            yield from _facts(task, processes)
        self._open.clear()


def _take(task: _Task, line: Line) -> None:
    text = line.text[:16000]
    for name, pattern in _PIECES.items():
        if name not in task.told and (found := pattern.search(text)):
            task.told[name] = found[1]


def _facts(task: _Task, processes: Processes) -> Iterator[Fact]:
    told, line, place = task.told, task.line, task.line.place()
    rank, remote, tag = number(told.get("rank")), number(told.get("remote")), told.get("tag", "")
    if told.get("size") == "0":
        rank = remote = None  # nothing was known of the communicator
    group = told.get("group") or communicator_of(tag) or group_of(processes.of(line), rank=rank)
    who = speaker(line, group, rank)
    if size := number(told.get("size")):
        yield Group(group, place, size=size)
    op, seq = operation_of(tag), number(told.get("index"))
    if op is not None and op not in _MESSAGES:
        step = told.get("type") and f"{told['type']}, stage {told.get('stage', '?')}"
        entered = seconds(told["time"]) if "time" in told else None
        yield Call(who, place, group, seq, signature(op, told), "pending", entered=entered, step=step)
    if remote is not None and remote != rank and told.get("type", "Notify").lower().startswith("notify"):
        yield Waiting(who, place, (member(group, remote),), group, seq, op)


def signature(op: str, told: dict[str, str]) -> Signature:
    """Of what a line tells by name."""
    count = int(told["count"]) if op in _EQUAL_COUNTS and "count" in told else None
    return Signature(op, count, told.get("dtype"), told.get("operator"))
