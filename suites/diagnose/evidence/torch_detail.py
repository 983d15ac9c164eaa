"""Calls that PyTorch compared before making them (TORCH_DISTRIBUTED_DEBUG=DETAIL) and found to be different.

The text is that of torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp. It compares the lengths of the descriptions of
two calls first, and where these differ it prints the other's length as if it were its operation, under number 0: a
length of 3 is REDUCE, 7 is GATHER. Such an operation is not to be believed; only the rank's own report tells what it
called, and where that is in the same source it is used.
May import: facts, line, operations, torch_speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.operations import operation
from suites.diagnose.evidence.torch_speaker import Speaker, speaker
from suites.diagnose.facts import ANOTHER, Disagreement, Fact, Place, Side

_CALL = re.compile(
    r"Rank\s{1,9}(?P<rank>\d{1,7})\s{1,9}is running (?:inconsistent )?collective:\s{0,9}"
    r"(?:CollectiveFingerPrint\((?P<print>[^()]{0,2000})|(?P<op>(?!Collective)\w{1,40}))"
)
_SEQUENCE = re.compile(r"SequenceNumber=(\d{1,20})")
_OPERATION = re.compile(r"OpType=(\w{1,40})")
_SHAPE = re.compile(r"TensorShape=\[([\d,\s]{0,400})\]")
_DTYPE = re.compile(r"TensorDtypes=([\w,\s]{1,200}?)(?:,\s{0,9}TensorDevice|$)")
_LENGTHS = frozenset(
    ("REDUCE", "ALLGATHER_COALESCED", "GATHER", "SCATTER", "REDUCE_SCATTER", "ALLTOALL_BASE", "ALLTOALL")
)
"""Operations whose numbers are lengths of descriptions: of no tensor, and of one tensor with 0 to 5 dimensions."""
_ASPECTS = ("operation", "count", "dtype")
_MOST_HELD = 1024


@dataclass(frozen=True, slots=True)
class _Call:
    rank: int
    seq: int | None
    op: str
    shape: str | None = None
    dtype: str | None = None

    @property
    def parts(self) -> tuple[str | None, ...]:
        return (operation(self.op), self.shape, self.dtype)

    @property
    def words(self) -> str:
        return " ".join(part for part in self.parts if part)


@dataclass(frozen=True, slots=True)
class _Report:
    said: Speaker
    place: Place
    own: _Call
    other: _Call | None
    """None where it is not told what the other called."""
    other_rank: int | None
    """None where versions before 1.13 do not tell who differs."""


@dataclass(slots=True)
class Detail:
    """Reads them. All are kept to the end, since others' reports complete each."""

    wakes: tuple[str, ...] = ("Detected mismatch between collectives",)
    awake: bool = False
    _reports: list[_Report] = field(default_factory=list)

    def feed(self, line: Line) -> Iterable[Fact]:
        calls = [_call(found) for found in islice(_CALL.finditer(line.text), 2)]
        if calls and len(self._reports) < _MOST_HELD:
            own, other = calls[0], calls[-1] if len(calls) > 1 else None
            said = replace(speaker(line), group_rank=own.rank)
            told = None if other is None or _is_length(own, other) else other
            self._reports.append(_Report(said, line.place(), own, told, other.rank if other else None))
        return ()

    def end(self) -> Iterable[Fact]:
        own: dict[tuple[str, int | None, int | None], _Call] = {
            (report.said.key, report.own.seq, report.own.rank): report.own for report in self._reports
        }
        for report in self._reports:
            other = report.other or own.get((report.said.key, report.own.seq, report.other_rank))
            yield from _facts(report, other)


def _facts(report: _Report, other: _Call | None) -> Iterator[Fact]:
    said, own = report.said, report.own
    there = () if report.other_rank is None else (said.other(report.other_rank),)
    numbers = [number for number in (own.seq, other.seq if other else None) if number is not None]
    seq = min(numbers, default=None)
    mine, its = own.words, other.words if other else ANOTHER
    if mine == its and other is not None:  # then it is their numbers that differ
        mine, its = f"{mine} #{own.seq}", f"{its} #{other.seq}"
    yield Disagreement(
        report.place, (Side(mine, (said.member,)), Side(its, there)),
        _aspect(own, other), said.key, seq, operation(own.op),
    )  # fmt: skip


def _aspect(own: _Call, other: _Call | None) -> str:
    if other is None:
        return "operation or count"
    differing = [
        aspect
        for aspect, mine, its in zip(_ASPECTS, own.parts, other.parts, strict=True)
        if its and mine and mine != its
    ]
    if own.seq != other.seq:
        differing.insert(0, "order")
    return ", ".join(differing)


def _call(found: re.Match[str]) -> _Call:
    text = found["print"]
    if text is None:
        return _Call(int(found["rank"]), None, found["op"])
    seq, op, shape, dtype = (pattern.search(text) for pattern in (_SEQUENCE, _OPERATION, _SHAPE, _DTYPE))
    return _Call(
        int(found["rank"]), int(seq[1]) if seq else None, op[1] if op else "unknown",
        f"[{', '.join(shape[1].replace(',', ' ').split())}]" if shape else None,
        dtype[1].split(",")[0].strip().lower() if dtype else None,
    )  # fmt: skip


def _is_length(own: _Call, other: _Call) -> bool:
    """Whether what stands as the other's operation is a length."""
    return other.shape is None and (own.shape is not None or (other.seq == 0 and other.op in _LENGTHS))
