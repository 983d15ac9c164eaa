"""Communicators and calls in NCCL's log: who is which rank of what, and what each has launched.

A pointer names a communicator within one process only; its commId is the same on all ranks. Calls are told with
NCCL_DEBUG_SUBSYS=COLL (ncclEnqueueCheck in NCCL's src/enqueue.cc), the number in hexadecimal.
May import: facts, line, operations.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.operations import operation
from suites.diagnose.facts import Call, Fact, Group, Identity, Signature

_INIT = re.compile(
    r"comm (?P<comm>0x[0-9a-f]+) rank (?P<rank>\d{1,9}) n[rR]anks (?P<size>\d{1,9})\b"
    r"(?:.{0,120}? commId (?P<id>0x[0-9a-f]+))?"
)
_COLL = re.compile(
    r"(?P<op>\w{2,40}): opCount (?P<number>[0-9a-fA-F]{1,16}) sendbuff \S{1,40} recvbuff \S{1,40} "
    r"count (?P<count>\d{1,20}) "
    r"datatype (?P<dtype>\d{1,3}) op (?P<operator>\d{1,3}) root (?P<root>-?\d{1,10}) comm (?P<comm>\S{1,40})"
    r"(?: \[nranks=(?P<size>\d{1,9})\])?"
)
_DTYPES = (
    "int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16", "float8_e4m3",
    "float8_e5m2",
)  # fmt: skip
"""ncclDataType_t of nccl.h, by number."""
_OPERATORS = ("sum", "prod", "max", "min", "avg")
_REDUCING = frozenset(("allreduce", "reduce", "reduce_scatter"))
_ROOTED = frozenset(("broadcast", "reduce", "gather", "scatter"))

Process = tuple[str | None, int | None, str]
"""Host, process id, and the pointer in it."""


@dataclass(slots=True)
class Communicators:
    """Of one source. A communicator whose beginning was not seen is taken for the one of as many ranks that other
    processes have opened in the same order."""

    _known: dict[Process, tuple[str, int]] = field(default_factory=dict)
    _guessed: dict[Process, str] = field(default_factory=dict)
    _number: dict[tuple[str | None, int | None, str], int] = field(default_factory=lambda: defaultdict(int))
    _last: dict[Process, int] = field(default_factory=dict)

    def read(self, line: Line) -> Iterable[Fact]:
        if "opCount " in line.text and (found := _COLL.search(line.text)):
            yield from self._call(found, line)
        elif "comm 0x" in line.text and (found := _INIT.search(line.text)) and found["id"]:
            yield from self._begun(found, line)

    def _begun(self, found: re.Match[str], line: Line) -> Iterable[Fact]:
        key, rank = f"comm {found['id']}", int(found["rank"])
        self._known[line.who.host, line.who.pid, found["comm"]] = key, rank
        yield Group(key, line.place(), size=int(found["size"]))
        yield Identity(replace(line.who, group=key, group_rank=rank), line.place())

    def _call(self, found: re.Match[str], line: Line) -> Iterable[Fact]:
        process = (line.who.host, line.who.pid, found["comm"])
        op, size = operation(found["op"]), int(found["size"] or 0)
        who = line.who
        if process in self._known:
            key, rank = self._known[process]
            who = replace(who, group=key, group_rank=rank)
        else:
            key = self._guess(process, size)
            yield Group(key, line.place(), f"a communicator of {size} ranks", size or None)
        number = int(found["number"], 16)
        # On one node newer versions always say 0: then the order in the file counts.
        seq = None if number == 0 and self._last.get(process) == 0 else number
        self._last[process] = number
        signature = Signature(
            op,
            int(found["count"]),
            _name(_DTYPES, int(found["dtype"])),
            _name(_OPERATORS, int(found["operator"])) if op in _REDUCING else None,
            int(found["root"]) if op in _ROOTED else None,
        )
        if op not in ("send", "recv"):
            yield Call(who, line.place(), key, seq, signature)

    def _guess(self, process: Process, size: int) -> str:
        if process not in self._guessed:
            host, pid, _ = process
            of_size = (host, pid, str(size))
            self._number[of_size] += 1
            self._guessed[process] = f"communicator {self._number[of_size]} of {size} ranks"
        return self._guessed[process]


def _name(names: tuple[str, ...], number: int) -> str:
    return names[number] if number < len(names) else f"type {number}"
