"""The exercise of `diagnose deadlock`: which groups ranks form, and which calls they make in which order, as data.

Every rank makes the calls that it takes part in, in the order of their numbers, which is the same on all: whatever the
groups have in common, some call always is next for all of its members, so a healthy exercise comes to its end.
May import: collectives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, zip_longest
from math import isqrt
from typing import TypeVar

from collectives.dtypes import DTYPES
from collectives.ops import COLLECTIVES

_Item = TypeVar("_Item")

MESSAGE = "message"
"""Stands for the collective in what one rank of a group sends to another one."""
WORLD = "world"
LAYOUTS = {
    "world": ("world",),
    "halves": ("halves", "world"),
    "grid": ("rows", "columns", "world"),
    "all": ("world", "halves", "rows", "columns"),
}
"""layout -> the families of groups that it has, the most telling one first."""
FAMILIES = ("world", "halves", "rows", "columns")
_LEAST_GRID = 4

_BYTES = (64, 16 << 10, 520 << 10)
"""What calls are asked to move: in slots, around the limits of slots, and far beyond them."""
_MOVED = ("float32", "int8", "float64", "int32", "float16", "uint8", "int64")
_REDUCED = (("float32", "sum"), ("int32", "max"), ("float64", "avg"), ("float32", "min"), ("int64", "prod"))
_ROUNDS = len(COLLECTIVES) * len(_BYTES)
_MESSAGES_EVERY = 5
"""Rounds."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some ranks of the world, in order. Groups of one family have no rank in common."""

    name: str
    family: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One call. `number` is its place among all calls, `seq` among the collectives of its group or, as a message,
    among the messages of its pair, both from 1. Roots and pairs are ranks of the group."""

    number: int
    seq: int
    group: Group
    collective: str
    dtype: str
    operator: str
    count: int
    root: int = 0
    pair: tuple[int, int] | None = None
    """Of a message: who sends, who receives."""

    @property
    def members(self) -> tuple[int, ...]:
        """Ranks of the world that take part."""
        return self.group.ranks if self.pair is None else tuple(self.group.ranks[rank] for rank in self.pair)

    @property
    def together(self) -> bool:
        """Whether nobody can leave it before all have entered it."""
        row = COLLECTIVES.get(self.collective)
        return row is not None and not row.rooted and self.collective != "sendrecv" and len(self.members) > 1

    @property
    def signature(self) -> str:
        """What all members must agree on, in words."""
        row = COLLECTIVES.get(self.collective)
        words = [self.collective, *([f"of {self.count} {self.dtype}"] if self.collective != "barrier" else [])]
        if row and row.reduces:
            words.append(self.operator)
        if row and row.rooted:
            words.append(f"root {self.root}")
        if self.pair:
            words.append("from rank {} to rank {}".format(*self.members))
        return " ".join(words)

    def describe(self) -> str:
        return f"call {self.number} ({self.group.name} #{self.seq}: {self.signature})"


def groups_of(size: int, families: Sequence[str] = FAMILIES) -> tuple[Group, ...]:
    """The groups that a world of this size has, of these families."""
    found: list[Group] = [Group(WORLD, WORLD, tuple(range(size)))]
    half = -(-size // 2)
    if size > 1:
        found += [Group(f"half{n}", "halves", ranks) for n, ranks in enumerate((_span(0, half), _span(half, size)))]
    if size >= _LEAST_GRID:
        width = _width(size)
        rows = [_span(start, min(start + width, size)) for start in range(0, size, width)]
        columns = [tuple(range(column, size, width)) for column in range(width)]
        found += [Group(f"row{n}", "rows", ranks) for n, ranks in enumerate(rows)]
        found += [Group(f"column{n}", "columns", ranks) for n, ranks in enumerate(columns)]
    return tuple(group for group in found if group.family in families)


def script(size: int, layout: str = "all") -> tuple[Scheduled, ...]:
    """All calls of the exercise, in order. A layout that a world of this size has no groups for has the world alone."""
    groups = groups_of(size, LAYOUTS[layout])
    seqs: dict[tuple[str, tuple[int, int] | None], int] = {}
    calls: list[Scheduled] = []

    def add(group: Group, collective: str, dtype: str, operator: str, count: int, root: int = 0,
            pair: tuple[int, int] | None = None) -> None:  # fmt: skip
        seq = seqs[group.name, pair] = seqs.get((group.name, pair), 0) + 1
        calls.append(Scheduled(len(calls) + 1, seq, group, collective, dtype, operator, count, root, pair))

    for turn in range(_ROUNDS):
        for group in _order(groups, turn):
            add(group, *_collective(group, turn))
            if turn % _MESSAGES_EVERY == 1:
                for pair in _pairs(len(group.ranks), turn):
                    dtype = _MOVED[turn % len(_MOVED)]
                    count = _BYTES[turn // _MESSAGES_EVERY % len(_BYTES)] // DTYPES[dtype].itemsize // 8
                    add(group, MESSAGE, dtype, "sum", count, 0, pair)
    add(_world(groups), "barrier", "uint8", "sum", 0)
    return tuple(calls)


def calls_of(calls: Sequence[Scheduled], rank: int) -> tuple[Scheduled, ...]:
    """Those that a rank takes part in."""
    return tuple(call for call in calls if rank in call.members)


def _collective(group: Group, turn: int) -> tuple[str, str, str, int, int]:
    """What a group does in a round: families are at different collectives, and each comes with every size."""
    names, shift = list(COLLECTIVES), FAMILIES.index(group.family) * 3
    name = names[(turn * 3 + shift) % len(names)]
    nbytes = _BYTES[(turn + shift) % len(_BYTES)]
    dtype, operator = _MOVED[(turn + shift) % len(_MOVED)], "sum"
    if COLLECTIVES[name].reduces:
        dtype, operator = _REDUCED[(turn + shift) % len(_REDUCED)]
    if name == "barrier":
        return name, "uint8", operator, 0, 0
    root = turn % len(group.ranks) if COLLECTIVES[name].rooted else 0
    return name, dtype, operator, COLLECTIVES[name].elements(nbytes, len(group.ranks), DTYPES[dtype].itemsize), root


def _order(groups: Sequence[Group], turn: int) -> list[Group]:
    """Whose call comes when in a round, as in a real step: a row, a column, a row ..., then halves and the world; each
    round begins with another one, so that ranks wait for each other in every possible order."""
    of = {family: [group for group in groups if group.family == family] for family in FAMILIES}
    rows, columns = _rotated(of["rows"], turn), _rotated(of["columns"], turn // max(len(of["rows"]), 1))
    first, second = (rows, columns) if turn % 2 else (columns, rows)
    grid = [group for both in zip_longest(first, second) for group in both if group]
    return list(chain.from_iterable(_rotated([grid, of["halves"], of["world"]], turn)))


def _pairs(size: int, turn: int) -> Iterator[tuple[int, int]]:
    """A chain through the group, forth or back; then neighbours with each other."""
    line = list(range(size)) if turn % 2 else list(reversed(range(size)))
    yield from pairwise(line)
    for one in range(0, size - 1, 2):
        yield one, one + 1
        yield one + 1, one


def _rotated(items: Sequence[_Item], by: int) -> list[_Item]:
    start = by % len(items) if items else 0
    return [*items[start:], *items[:start]]


def _world(groups: Sequence[Group]) -> Group:
    return next(group for group in groups if group.family == WORLD)


def _span(start: int, stop: int) -> tuple[int, ...]:
    return tuple(range(start, stop))


def _width(size: int) -> int:
    """Of the rows of a grid: the largest divisor that makes no row longer than a column; where there is none, the last
    row is shorter."""
    return next((width for width in range(isqrt(size), 1, -1) if size % width == 0), isqrt(size))
