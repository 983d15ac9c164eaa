"""Communicators and calls in NCCL's log: who is which rank of what, and what each has launched.

A pointer names a communicator within one process only; its commId is the same on all ranks, and so is, of one that was
split off, its parent's name with the number of the split and the colour. Calls are told with NCCL_DEBUG_SUBSYS=COLL
(ncclEnqueueCheck in NCCL's src/enqueue.cc), the number in hexadecimal.
May import: facts, line, operations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.operations import operation
from suites.diagnose.facts import NOBODY, Call, Fact, Group, Identity, Place, Signature, State, Unread, Who

_RANK = re.compile(r"comm (?P<comm>0x[0-9a-f]{1,16}) rank (?P<rank>\d{1,9}) n[rR]anks (?P<size>\d{1,9})\b")
_ID = re.compile(r" commId (?P<id>0x[0-9a-f]{1,16})")
_PARENT = re.compile(
    r" parent (?P<parent>0x[0-9a-f]{1,16})(?: (?:split|child)Count (?P<number>\d{1,9}))?"
    r"(?: color (?P<color>-?\d{1,10}))?"
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

Process = tuple[str | None, int | None]
"""Host and process id."""


def communicator(number: str) -> str:
    """The key of a communicator, by its commId, which RAS calls its hash: some leave out 0x, or leading zeros."""
    return f"comm {int(number, 16):#x}"


@dataclass(slots=True)
class Communicator:
    """As one process has it. `guessed` where its key might be that of another one too."""

    key: str
    size: int
    rank: int | None = None
    guessed: bool = False
    last: Call | None = None
    number: int | None = None
    """That NCCL gave to the last call."""
    ordinal: bool = False
    """Calls are numbered by their order."""
    messages: dict[tuple[str, int], Call] = field(default_factory=dict)
    """The last one to or from each peer; its number is how many there were."""
    alone: set[int] = field(default_factory=set)
    """Numbers that so far only messages have had."""
    skipped: int = 0
    """How many of them there were before the last collective: those are none that all ranks count."""
    _speaker: Who = NOBODY
    """Who spoke last, and as which rank."""
    _who: Who = NOBODY

    def who(self, speaker: Who) -> Who:
        if self.rank is None:
            return speaker
        if speaker is not self._speaker:
            self._speaker, self._who = speaker, replace(speaker, group=self.key, group_rank=self.rank)
        return self._who

    def next(self, number: int) -> int:
        """The number of a call that NCCL numbers so. On one node newer versions always say 0, and calls that are
        grouped at the very beginning do so too: then the order in the file counts."""
        self.ordinal |= number == 0 == self.number
        self.number = number
        if self.alone:
            self.skipped += sum(one < number for one in self.alone)
            self.alone = {one for one in self.alone if one > number}
        return (self.last.seq or 0) + 1 if self.ordinal and self.last is not None else number - self.skipped

    def send(self, number: int, call: Call, peer: int) -> None:
        """A message, or what is received; messages of some ranks only are numbered with the collectives of all."""
        if number != self.number:
            self.alone.add(number)
        before = self.messages.get((call.signature.op, peer))
        self.messages[call.signature.op, peer] = replace(
            call, seq=1 if before is None else (before.seq or 0) + 1, peer=Who(group=self.key, group_rank=peer),
            peer_sends=call.signature.op == "recv",
        )  # fmt: skip


@dataclass(slots=True)
class _Opening:
    """A process sets up a communicator, which all its ranks must do at once; `over` once it is through."""

    mine: Communicator
    speaker: Who
    place: Place
    over: bool = False

    def facts(self, several: bool) -> Iterable[Fact]:
        group = f"set-up of {self.mine.key}"
        yield Group(group, self.place, like=self.mine.key)
        state: State = "done" if self.over else "pending"
        yield Call(
            self.mine.who(_unnumbered(self.speaker) if several else self.speaker),
            self.place,
            group,
            1,
            Signature("init"),
            state,
        )


@dataclass(slots=True)
class Communicators:
    """Of one source. A communicator whose beginning was not seen is taken for the one of as many ranks that other
    processes have opened in the same order."""

    _open: dict[tuple[Process, str], Communicator] = field(default_factory=dict)
    """By process and pointer."""
    _number: Counter[tuple[Process, str]] = field(default_factory=Counter)
    _openings: dict[tuple[Process, str], _Opening] = field(default_factory=dict)
    _identities: dict[tuple[Process, str, int], tuple[Communicator, Who, Place]] = field(default_factory=dict)
    """They are told at the end: only then it is known which processes have several ranks."""
    _ranks: dict[tuple[Process, str], int] = field(default_factory=dict)
    """The first that a process has in a communicator."""
    _several: set[Process] = field(default_factory=set)
    """Processes with several GPUs: none of their ranks is the process."""
    _silent: str = ""
    """The source, where communicators are opened in it, and no calls are told so far."""
    _tells: bool = False
    """Of calls, or that a communicator has come to its end."""

    def read(self, line: Line) -> Iterable[Fact]:
        if "opCount " in line.text and (found := _COLL.search(line.text)):
            self._tells = True
            return self._call(found, line)
        if "comm 0x" in line.text and (found := _RANK.search(line.text)):
            if " Destroy COMPLETE" in line.text or " Abort COMPLETE" in line.text:
                self._tells = True
                return self._ended(found["comm"], line)
            return self._begun(found, line)
        return ()

    def _begun(self, found: re.Match[str], line: Line) -> Iterable[Fact]:
        # One that was split off says its own commId in some versions only, and in others its parent's.
        process, size, rank = _process(line), int(found["size"]), int(found["rank"])
        if told := _PARENT.search(line.text, found.end()):
            known = self._open.get((process, found["comm"]))
            if known is not None and known.rank == rank and known.size == size and "COMPLETE" in line.text:
                if opening := self._openings.get((process, found["comm"])):
                    opening.over = True
                return
            fresh = self._split(process, told, size, rank)
        elif (told := _ID.search(line.text, found.end())) and int(told["id"], 16):
            fresh = Communicator(communicator(told["id"]), size, rank)
        else:
            return
        known = self._open.get((process, found["comm"]))
        if known is None or known.key != fresh.key:
            self._open[process, found["comm"]] = fresh
        self._silent = line.file
        if "Init START" in line.text and not fresh.guessed and process != (None, None):
            self._openings[process, found["comm"]] = _Opening(fresh, line.who, line.place())
        elif "Init COMPLETE" in line.text and (opening := self._openings.get((process, found["comm"]))):
            opening.over = True
        yield Group(fresh.key, line.place(), size=size, guessed=fresh.guessed)
        if self._ranks.setdefault((process, fresh.key), rank) != rank and process != (None, None):
            self._several.add(process)
        self._identities.setdefault((process, fresh.key, rank), (fresh, line.who, line.place()))

    def _split(self, process: Process, told: re.Match[str], size: int, rank: int) -> Communicator:
        parent = self._open.get((process, told["parent"]))
        if parent is None:
            parent = self._unseen(process, told["parent"], "an unseen communicator", 0)
        number = told["number"] or str(self._next(process, f"{parent.key} {told['color']} {size}"))
        color = "" if told["color"] is None else f" color {told['color']}"
        return Communicator(f"{parent.key} split {number}{color}", size, rank, parent.guessed)

    def _unseen(self, process: Process, pointer: str, name: str, size: int) -> Communicator:
        number = self._next(process, name)
        return self._open.setdefault((process, pointer), Communicator(f"{name} {number}", size, guessed=True))

    def _next(self, process: Process, name: str) -> int:
        self._number[process, name] += 1
        return self._number[process, name]

    def _call(self, found: re.Match[str], line: Line) -> Iterable[Fact]:
        process, op = _process(line), operation(found["op"])
        mine = self._open.get((process, found["comm"]))
        if mine is None:
            size = int(found["size"] or 0)
            mine = self._unseen(process, found["comm"], f"communicator of {size} ranks", size)
            yield Group(mine.key, line.place(), size=size or None, guessed=True)
        number, is_message = int(found["number"], 16), op in ("send", "recv")
        seq = None if is_message else mine.next(number)
        signature = _signature(op, found["count"], found["dtype"], found["operator"], found["root"])
        speaker = _unnumbered(line.who) if process in self._several else line.who
        call = Call(mine.who(speaker), line.place(), mine.key, seq, signature)
        if is_message:
            mine.send(number, call, int(found["root"]))
        else:
            mine.last = call
            yield call

    def end(self) -> Iterable[Fact]:
        """How many messages each has begun to send and to receive, where that was told from the beginning; and which
        communicators are being set up."""
        for (process, _, _), (mine, speaker, place) in self._identities.items():
            yield Identity(mine.who(_unnumbered(speaker) if process in self._several else speaker), place)
        for mine in self._open.values():
            if mine.rank is not None:
                yield from mine.messages.values()
        for (process, _), opening in self._openings.items():
            yield from opening.facts(several=process in self._several)
        if self._silent and not self._tells:
            yield Unread(self._silent, "it tells of communicators, and not of calls: NCCL_DEBUG_SUBSYS=INIT,COLL does")

    def _ended(self, pointer: str, line: Line) -> Iterable[Fact]:
        """Nobody comes to the end of destroying a communicator before all its calls have ended."""
        mine = self._open.pop((_process(line), pointer), None)
        if mine is not None and mine.last is not None and " Destroy COMPLETE" in line.text:
            yield replace(mine.last, state="done")


def _unnumbered(who: Who) -> Who:
    """One of several ranks of a process, on one of its GPUs, which its other threads may speak of too."""
    return replace(who, pid=None, device=None)


def _process(line: Line) -> Process:
    return line.who.host, line.who.pid


@lru_cache(4096)
def _signature(op: str, count: str, dtype: str, operator: str, root: str) -> Signature:
    """A job calls few different things, many times."""
    return Signature(
        op,
        int(count),
        _name(_DTYPES, int(dtype)),
        _name(_OPERATORS, int(operator)) if op in _REDUCING else None,
        int(root) if op in _ROOTED else None,
    )


def _name(names: tuple[str, ...], number: int) -> str:
    return names[number] if number < len(names) else f"type {number}"
