"""The stall inspector of Horovod: rank 0 says which ranks have not submitted a tensor that others have.

The texts are those of horovod/common/stall_inspector.cc (a table by rank, headed "Missing ranks:", before that "Stalled
ranks:") and of operations.cc before it (a line a tensor, "[missing ranks: 0]", first "[ready ranks: 1, 2]").
May import: facts, line, operations, ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from suites.diagnose.evidence.line import Line, merged
from suites.diagnose.evidence.operations import operation
from suites.diagnose.facts import Absent, Fact, Level, Trouble, Who
from suites.diagnose.ranks import listed

_HEADS = ("Missing ranks:", "Stalled ranks:")
_ROW = re.compile(r"^\s{0,9}(?P<rank>\d{1,7})!?: \[(?P<names>.{1,60000})")
_TENSOR = re.compile(
    r"(?<![^\s,])(?P<name>[^\s,\[\]]{1,4000})\s{0,9}"
    r"\[(?P<state>missing|ready) ranks:\s{0,9}(?P<ranks>\d[\d, ]{0,60000})\]"
)
_OPERATION = re.compile(
    r"allreduce|allgather|broadcast|alltoall|reducescatter|grouped_?allreduce|barrier", re.IGNORECASE
)
_STALL = "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks"
_MOST_STALLED = 64
"""An inspector repeats itself every minute."""
_MOST_RANKS = 1 << 14
_WORDS = "some ranks have submitted tensors that others have not"


@dataclass(frozen=True, slots=True)
class _Stalled:
    """Ranks that have not submitted a tensor, or that have, or what one rank has not submitted."""

    line: Line
    names: str
    ranks: frozenset[int]
    are_ready: bool = False
    table: int | None = None
    """Which one it is a row of."""

    def tells(self, name: str) -> bool:
        """Rows are cut after some names, and then may be silent on others."""
        return name in self.names or "..." in self.names


@dataclass(slots=True)
class StallInspector:
    """Reads them. Operations are those of the first tensor, whose name begins with what is done to it."""

    wakes: tuple[str, ...] = (_STALL, *_HEADS, "[missing ranks:", "[ready ranks:")
    awake: bool = False
    _stalled: dict[tuple[str, frozenset[int]], _Stalled] = field(default_factory=dict)
    _table: int = 0

    def feed(self, line: Line) -> Iterable[Fact]:
        if _STALL in line.text:
            yield Trouble(line.who, line.place(), Level.TIMEOUT, _WORDS, known_as="horovod.stall")
        if self.awake and (row := _ROW.match(line.text)):
            self._keep(_Stalled(line, row["names"], frozenset((int(row["rank"]),)), table=self._table))
            return
        if self.awake and not line.text.strip():
            return
        self.awake = line.text.rstrip().endswith(_HEADS)
        self._table += self.awake
        for found in _TENSOR.finditer(line.text):
            ranks = frozenset(listed(found["ranks"]))
            self._keep(_Stalled(line, found["name"], ranks, found["state"] == "ready"))

    def end(self) -> Iterator[Fact]:
        """All ranks of which a tensor is not missing have submitted it. There are two at least."""
        stalled = list(self._stalled.values())
        everybody = frozenset(range(1 + max((1, *(max(one.ranks) for one in stalled)))))
        for one in stalled:
            if one.are_ready:
                yield _absent(one, everybody - one.ranks, one.ranks)
            else:
                yield _absent(one, one.ranks, everybody - one.ranks - _missing_too(one, stalled))

    def _keep(self, one: _Stalled) -> None:
        if len(self._stalled) < _MOST_STALLED and max(one.ranks) < _MOST_RANKS:
            self._stalled.setdefault((one.names, one.ranks), one)


def _missing_too(one: _Stalled, stalled: Iterable[_Stalled]) -> frozenset[int]:
    """Who is in other rows of the same table for the same tensor, or may be."""
    name = one.names.partition(",")[0].strip("] \r\n")
    rows = [
        other.ranks for other in stalled if other.table is not None and other.table == one.table and other.tells(name)
    ]
    return frozenset().union(*rows)


def _absent(one: _Stalled, absent: frozenset[int], present: frozenset[int]) -> Absent:
    found = _OPERATION.search(one.names, 0, 4096)
    op = operation(found[0]) if found else None
    by = merged(one.line.who, Who(rank=0))
    return Absent(one.line.place(), _people(absent), _people(present), None, None, op, by)


def _people(ranks: frozenset[int]) -> tuple[Who, ...]:
    return tuple(Who(rank=rank) for rank in sorted(ranks))
