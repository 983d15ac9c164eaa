"""Ranks that find each other, or do not: the negotiation with the root, connections between NPUs, TLS.

Who waits for whom stands in LINK_ERROR_INFO tables (two layouts), in `createLink para`, and in what HCCL's own probes
found; who never reported, in the root's list (HCCL's user guide, "fault diagnosis").
May import: facts, line, operations, hccl_speech, ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from suites.diagnose.evidence.hccl_speech import Processes, group_of, member, npu, number, speaker
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.operations import operation
from suites.diagnose.facts import Absent, Fact, Level, Setting, Subject, Trouble, Waiting, Who
from suites.diagnose.ranks import MOST_RANKS, listed, some

_CONNECTED = frozenset(("connected", "connect", "success", "ok", "linked"))
_CELL = r"\s{0,40}([0-9a-zA-Z.:%_\-]{2,80})\((\d{1,10})\)\s{0,40}\|"
_PORT = r"(?:\s{0,40}\d{1,10}\s{0,40}\|)?"
_ROW = re.compile(
    r"\|" + _CELL + _PORT + _CELL + _PORT + r"\s{0,40}(?:client|server)\s{0,40}\|\s{0,40}([a-z][a-z ]{0,30})\|"
    r"(?:\s{0,40}(ENABLE|DISABLE)\b)?"
)
_CREATE = re.compile(
    r"createLink para: ?rank\[\d{1,10}\]-localUserrank\[(?P<own>\d{1,10})\].{0,120}?"
    r"(?:remoteRank|dst_rank)\[\d{1,10}\]-remoteUserrank\[(?P<remote>\d{1,10})\]"
)
_TAG = re.compile(r"\btag ?\[([^\]]{1,300})\]")
_PROBED = re.compile(
    r"srcRank \(server (?P<server>[^,]{1,80}), device ID (?P<device>\d{1,5})\) fails to connect to dstRank \(server "
    r"(?P<peer>[^,]{1,80}), device ID (?P<peers>[\d, ]{1,200})\)"
)
_UNREACHED = re.compile(r"connect server\[(?P<root>[^\]]{1,80}?) ?: ?(?P<port>\d{1,6})\] fail")
_TOTAL = re.compile(r"total connected num is \[(\d{1,7})\]")
_NEEDED = re.compile(r"need connect rankNum is ?\[(\d{1,7})\]")
_REPORTED = re.compile(r"\[(\d{1,20})\]")
_AGENTS = re.compile(r"Failed to connect agent\[([\d, ]{1,4000})\]")
_TLS = re.compile(
    r"rankList for enabled tls: ?\[([^\]]{0,4000})\].{0,80}?rankList for disabled tls: ?\[([^\]]{0,4000})\]"
)
_SAME_TLS = ("hccn_tool -i N -tls -g", "hccn_tool -i N -tls -s enable 0 on the ranks where it is on")


@dataclass(slots=True)
class _Roll:
    """Of those who have reported to a root, as far as it is read."""

    line: Line
    total: int | None = None
    needed: int | None = None
    reported: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Links:
    """Keeps the roll that a root calls over several lines."""

    _rolls: dict[Who, _Roll] = field(default_factory=dict)

    def row(self, line: Line, processes: Processes) -> Iterable[Fact]:
        """Of a LINK_ERROR_INFO table: where to, from where."""
        found = _ROW.search(line.text)
        if not found or found[5].strip() in _CONNECTED:
            return
        if found[6]:
            yield Setting(Who(host=found[3]), line.place(), "hccl.tls", found[6])
        own, remote = number(found[4]), number(found[2])
        yield from _edge(line, group_of(processes.of(line), rank=own), own, remote)

    def create(self, line: Line, processes: Processes) -> Iterable[Fact]:
        """A transport that could not be set up, with the operation that needed it."""
        if found := _CREATE.search(line.text):
            tag = tag_of(line)
            own = number(found["own"])
            yield from _edge(line, group_of(processes.of(line), tag, own), own, number(found["remote"]), tag)

    def probed(self, line: Line, processes: Processes) -> Iterable[Fact]:
        """What HCCL's probe of its connections found."""
        for found in _PROBED.finditer(line.text[:16000]):
            peers = tuple(npu(found["peer"], device) for device in re.findall(r"\d+", found["peers"]))
            yield Waiting(npu(found["server"], found["device"]), line.place(), peers)

    def unreached(self, line: Line, processes: Processes) -> Iterable[Fact]:
        """A rank that cannot reach the root."""
        if found := _UNREACHED.search(line.text):
            yield Waiting(line.who, line.place(), (Who(address=found["root"].split("%")[0]),))

    def counted(self, line: Line, processes: Processes) -> Iterable[Fact]:
        roll = self._roll(line)
        if found := _TOTAL.search(line.text):
            roll.total = int(found[1])
        elif found := _NEEDED.search(line.text):
            roll.needed = int(found[1])
        return ()

    def reported(self, line: Line, processes: Processes) -> Iterable[Fact]:
        """Those who are there; the rest is absent once all lines of the list are read."""
        roll = self._roll(line)
        if len(roll.reported) < MOST_RANKS:
            roll.reported += [int(text) for text in _REPORTED.findall(line.text.partition("rankinfo[")[2])]
        if roll.total is not None and roll.needed is not None and len(roll.reported) >= roll.total:
            del self._rolls[line.who]
            yield from _called(roll, processes)

    def agents(self, line: Line, processes: Processes) -> Iterable[Fact]:
        """The root tells all who reported which ranks did not."""
        if found := _AGENTS.search(line.text):
            group = group_of(processes.of(line))
            absent = tuple(member(group, rank) for rank in listed(found[1]) if rank < MOST_RANKS)
            yield Absent(line.place(), absent, group=group, op="init", by=line.who)

    def tls(self, line: Line, processes: Processes) -> Iterable[Fact]:
        """The fewer ones are the odd ones; of equally many nobody is."""
        if found := _TLS.search(line.text):
            group = group_of(processes.of(line))
            sides = [listed(found[side]) for side in (1, 2)]
            fewer = min(sides, key=len) if len(sides[0]) != len(sides[1]) else ()
            about = tuple(Subject("rank", member(group, rank)) for rank in fewer)
            what = f"TLS is on for ranks {some(sides[0])}, and off for {some(sides[1])}"
            yield Trouble(line.who, line.place(), Level.INITIATING, what, "config", about, _SAME_TLS, "hccl.tls")

    def end(self, processes: Processes) -> Iterator[Fact]:
        """Lists whose size was not told, or that were cut off: nobody is absent only because a line is missing."""
        for roll in self._rolls.values():
            if roll.total is None or len(roll.reported) >= roll.total:
                yield from _called(roll, processes)
        self._rolls.clear()

    def _roll(self, line: Line) -> _Roll:
        return self._rolls.setdefault(line.who, _Roll(line))


def _called(roll: _Roll, processes: Processes) -> Iterator[Fact]:
    if roll.needed is None or not roll.reported or roll.needed > MOST_RANKS:
        return
    group, there = group_of(processes.of(roll.line)), set(roll.reported)
    absent = tuple(member(group, rank) for rank in range(roll.needed) if rank not in there)
    present = tuple(member(group, rank) for rank in sorted(there))
    if absent:
        yield Absent(roll.line.place(), absent, present, group, op="init", by=roll.line.who)


def tag_of(line: Line) -> str:
    """The last tag that the line names: earlier ones may be of what it is part of."""
    found = _TAG.findall(line.text[:16000])
    return found[-1] if found else ""


def operation_of(tag: str) -> str | None:
    """`AllReduce_...`, `HcomAllReduce_...` -> allreduce."""
    found = re.match(r"[A-Za-z]{3,40}", tag)
    return operation(found[0]) if found else None


def _edge(line: Line, group: str, own: int | None, remote: int | None, tag: str = "") -> Iterator[Fact]:
    if remote is None or remote == own:
        return
    yield Waiting(speaker(line, group, own), line.place(), (member(group, remote),), group, op=operation_of(tag))
