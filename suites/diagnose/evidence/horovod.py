"""The stall inspector of Horovod: rank 0 says which ranks have not submitted a tensor that others have.

The texts are those of horovod/common/stall_inspector.cc (a table by rank, headed "Missing ranks:", before that "Stalled
ranks:") and of operations.cc before it (a line a tensor, "[missing ranks: 0]", first "[ready ranks: 1, 2]").
May import: facts, line, operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from suites.diagnose.evidence.line import Line
from suites.diagnose.evidence.operations import operation
from suites.diagnose.facts import Absent, Fact, Level, Trouble, Who

_HEADS = ("Missing ranks:", "Stalled ranks:")
_ROW = re.compile(r"^\s{0,9}(?P<rank>\d{1,7})!?: \[(?P<names>.{1,60000})")
_TENSOR = re.compile(
    r"(?P<name>[^\s,\[\]]{1,400})\s{0,9}\[(?P<state>missing|ready) ranks:\s{0,9}(?P<ranks>\d[\d, ]{0,60000})\]"
)
_OPERATION = re.compile(
    r"allreduce|allgather|broadcast|alltoall|reducescatter|grouped_?allreduce|barrier", re.IGNORECASE
)
_STALL = "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks"
_MOST_READY = 16
"""Tensors of which it is said who has submitted them: an inspector repeats itself every minute."""
_MOST_RANKS = 1 << 16
_WORDS = "some ranks have submitted tensors that others have not"


@dataclass(slots=True)
class StallInspector:
    """Reads them. Operations are those of the first tensor, whose name begins with what is done to it."""

    wakes: tuple[str, ...] = (_STALL, *_HEADS, "[missing ranks:", "[ready ranks:")
    awake: bool = False
    _ready: list[tuple[Line, str, frozenset[int]]] = field(default_factory=list)
    _largest: int = 0
    """Rank that was named."""

    def feed(self, line: Line) -> Iterable[Fact]:
        if _STALL in line.text:
            yield Trouble(line.who, line.place(), Level.TIMEOUT, _WORDS, known_as="horovod.stall")
        if self.awake and (row := _ROW.match(line.text)):
            yield from self._row(row, line)
            return
        self.awake = line.text.rstrip().endswith(_HEADS)
        for found in _TENSOR.finditer(line.text):
            yield from self._tensor(found, line)

    def end(self) -> Iterator[Fact]:
        """The ready ones: the others among all ranks that were named are not."""
        everybody = frozenset(range(min(self._largest + 1, _MOST_RANKS)))
        for line, name, ready in self._ready:
            absent = everybody - ready
            if absent:
                yield _absent(line, name, absent, ready)

    def _row(self, row: re.Match[str], line: Line) -> Iterator[Fact]:
        rank = int(row["rank"])
        self._largest = max(self._largest, rank)
        yield _absent(line, row["names"], frozenset((rank,)), frozenset())

    def _tensor(self, found: re.Match[str], line: Line) -> Iterator[Fact]:
        ranks = frozenset(int(rank) for rank in found["ranks"].replace(",", " ").split())
        self._largest = max(self._largest, *ranks)
        if found["state"] == "missing":
            yield _absent(line, found["name"], ranks, frozenset())
        elif len(self._ready) < _MOST_READY and self._largest < _MOST_RANKS:
            self._ready.append((line, found["name"], ranks))


def reader() -> StallInspector:
    return StallInspector()


def _absent(line: Line, name: str, absent: frozenset[int], present: frozenset[int]) -> Absent:
    found = _OPERATION.search(name, 0, 4096)
    op = operation(found[0].lower().replace("grouped", "")) if found else None
    return Absent(line.place(), _people(absent), _people(present), None, None, op, line.who)


def _people(ranks: frozenset[int]) -> tuple[Who, ...]:
    return tuple(Who(rank=rank) for rank in sorted(ranks))
