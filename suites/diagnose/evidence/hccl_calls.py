"""HCCL's record of calls (HCCL_ENTRY_LOG_ENABLE=1), and what ranks found to differ when they connected.

May import: facts, line, operations, hccl_links, hccl_speech, hccl_tasks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.hccl_links import operation_of
from suites.diagnose.evidence.hccl_speech import UNNAMED, Process, Processes, communicator_of, member, number, speaker
from suites.diagnose.evidence.hccl_tasks import signature
from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.operations import ROOTED, operation
from suites.diagnose.facts import Call, Disagreement, Fact, Seen, Side, Who

_CALL = re.compile(r"Entry-(?P<name>Hccl[A-Za-z]{3,30}?)(?:V2|Inner)?: ?tag\[(?P<tag>[^\]]{0,300})\]")
_FIELD = re.compile(r"\b([A-Za-z]{2,20}) ?\[([^\]]{0,80})\]")
_NAMES = {
    "count": "count", "sendCount": "count", "recvCount": "count", "dataType": "dtype", "sendType": "dtype",
    "op": "operator",
}  # fmt: skip
_COLLECTIVES = frozenset(
    ("allreduce", "allgather", "allgatherv", "reduce_scatter", "reduce_scatterv", "alltoall", "alltoallv", "broadcast",
     "reduce", "gather", "scatter", "barrier")
)  # fmt: skip
_PEERS = {"send": ("destRank", False), "recv": ("srcRank", True)}
"""The field that names the peer, and whether it is the one that sends."""
_DIFFERS = re.compile(
    r"tag ?\[(?P<tag>[^\]]{1,300})\], ?parameter ?\[(?P<what>[^\]]{1,60})\], ?local ?\[(?P<local>[^\]]{0,200})\], ?"
    r"remote ?\[(?P<remote>[^\]]{0,200})\]"
)
_COMPARED = re.compile(
    r"CMD information (?P<what>\w{1,40}) check fail.{0,80}?local ?\[(?P<local>[^\]]{0,300})\], ?"
    r"remote ?\[(?P<remote>[^\]]{0,300})\]"
)
_REMOTE = re.compile(r"remote ?(?:user)?rank ?:? ?\[(\d{1,10})\]", re.IGNORECASE)


@dataclass(slots=True)
class Calls:
    """Numbers the calls of each process in each communicator by their order, from 1."""

    _made: Counter[tuple[Who, str, str]] = field(default_factory=Counter)
    _told: set[Who] = field(default_factory=set)

    def entry(self, line: Line, processes: Processes) -> Iterable[Fact]:
        found = _CALL.search(line.text)
        if not found:
            return
        if line.who not in self._told:
            self._told.add(line.who)
            yield Seen(line.place(), "HCCL record of calls", line.who, verbose=True)
        op, fields = operation(found["name"]), dict(_FIELD.findall(line.text[:4000]))
        group = _group(found["tag"], fields.get("comm"), processes.of(line))
        if group is None:
            return
        who = speaker(line, group, number(fields.get("localRank")))
        sign = signature(op, {_NAMES[name]: value for name, value in fields.items() if name in _NAMES})
        place = line.place()
        if op in _COLLECTIVES:
            root = number(fields.get("root")) if op in ROOTED else None
            seq = self._next(line.who, group, "")
            yield Call(who, place, group, seq, replace(sign, root=root), entered=line.time)
        elif op in _PEERS and (peer := number(fields.get(_PEERS[op][0]))) is not None:
            seq, other, sends = self._next(line.who, group, f"{op} {peer}"), member(group, peer), _PEERS[op][1]
            yield Call(who, place, group, seq, sign, peer=other, peer_sends=sends, entered=line.time)

    def _next(self, who: Who, group: str, way: str) -> int:
        self._made[who, group, way] += 1
        return self._made[who, group, way]


def _group(tag: str, pointer: str | None, process: Process) -> str | None:
    """By the tag; else by the address, where it was told whose it is, or is the only one of the process."""
    if named := communicator_of(tag):
        if pointer:
            process.pointers[pointer] = named
        return named
    if pointer is None:
        return UNNAMED
    if not process.pointers:
        process.pointers[pointer] = next(iter(process.communicators), UNNAMED)
    return process.pointers.get(pointer)


def differs(line: Line, processes: Processes) -> Iterable[Fact]:
    """HCCL compared what two ranks called, at the first call of its kind."""
    found = _DIFFERS.search(line.text) or _COMPARED.search(line.text)
    if not found:
        return
    what, tag = found["what"], found.groupdict().get("tag") or found["local"]
    op, group = operation_of(tag), communicator_of(tag)
    peer = _REMOTE.search(line.text)
    other = (member(group, number(peer[1])),) if peer and group else ()
    yield Disagreement(
        line.place(), (Side(_side(what, found["local"]), (line.who,)), Side(_side(what, found["remote"]), other)),
        "operation" if what == "tag" else what, group, op=op,
    )  # fmt: skip


def _side(what: str, value: str) -> str:
    return (operation_of(value) if what == "tag" else None) or f"{what} {value}"


HANDLERS = (("parameter", differs), ("CMD information", differs))
