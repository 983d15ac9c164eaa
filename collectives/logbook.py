"""Logbook: how a communicator over a library that is not opsdist's own records its calls, in the ring of ring.py.

Such a call is recorded as a whole, from its begin to its end: what it is at meanwhile is the library's affair. Ranks
make the calls of a communicator in the same order, so what is counted here is the same call on all of them.
May import: numpy, binding, the literal tables, recorder, schedule, transport.base's words, the standard library.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from collectives.backends import LIBRARY
from collectives.binding import Binding, common_dtype
from collectives.dtypes import DTYPES, OPERATORS, Array, name_of
from collectives.ops import COLLECTIVES
from collectives.recorder import Named, Record, Recorder, left
from collectives.schedule import Plan, Receive, Send, Span, Step
from collectives.transport.base import CallTag

Label = tuple[int, int, int, int, int]
"""What the native core records a call as: its group, program, frame, signature and count."""


class Logbook:
    """Of one communicator. `name` is the group's, `ranks` are its members' in the world, this one among them. Without a
    `recorder` calls are recorded where nobody looks."""

    def __init__(self, name: str, rank: int, ranks: Sequence[int], recorder: Recorder | None = None) -> None:
        self.recorder = recorder or Recorder(ranks[rank], len(ranks))
        self.name, self.rank, self.ranks = name, rank, tuple(ranks)
        self.group = self.recorder.group(name, self.ranks)
        self._begun = 0
        self._children: dict[tuple[int, ...], int] = {}
        self._pairs: dict[tuple[int, int], Logbook] = {}

    def child(self, members: Sequence[int]) -> Logbook:
        """Of a communicator of some of the members."""
        key = tuple(members)
        number = self._children[key] = self._children.get(key, -1) + 1
        world = [self.ranks[member] for member in key]
        return Logbook(f"{self.name}/{key}#{number}", key.index(self.rank), world, self.recorder)

    def entry(self, binding: Binding, operator: str) -> Entry:
        """A collective."""
        row, dtype, root = binding.row, name_of(binding.dtype), binding.shape.root
        tag = CallTag(
            0, 0, list(COLLECTIVES).index(row.name), list(OPERATORS).index(operator), list(DTYPES).index(dtype), root,
            binding.count,
        )  # fmt: skip
        named = Named(
            self.group, row.name, LIBRARY, dtype, operator if row.reduces else None, root if row.rooted else None,
            binding.count, binding.nbytes,
        )  # fmt: skip
        return Entry(self, tag, self.recorder.program(named, Plan(()), self.ranks, self.rank))

    def message(self, array: Array, peer: int, *, sent: bool) -> Entry:
        """A message to or from a member. Those of two ranks in one direction are counted apart."""
        source, target = (self.rank, peer) if sent else (peer, self.rank)
        pair = self._pairs.get((source, target))
        if pair is None:
            ranks = (self.ranks[source], self.ranks[target])
            pair = Logbook(f"{self.name} {source}>{target}", int(not sent), ranks, self.recorder)
            self._pairs[source, target] = pair
        dtype, count = name_of(common_dtype(array)), len(array)
        tag = CallTag(0, 0, list(COLLECTIVES).index("sendrecv"), 0, list(DTYPES).index(dtype), 0, count)
        collective = "send" if sent else "recv"
        named = Named(pair.group, collective, LIBRARY, dtype, None, None, count, array.nbytes, self.ranks[peer])
        spans = (Span("send" if sent else "recv", 0, count),)
        step = Step(sends=(Send(1, spans),)) if sent else Step(receives=(Receive(0, spans),))
        return Entry(pair, tag, self.recorder.program(named, Plan((step,)), pair.ranks, pair.rank))

    def count(self, calls: int) -> int:
        """The number of the first of so many calls that follow, which are the caller's to record."""
        first = self._begun + 1
        self._begun += calls
        return first


class Entry:
    """A call as it is bound, to be recorded each time it is made."""

    __slots__ = ("_book", "_count", "_program", "_word")

    def __init__(self, book: Logbook, tag: CallTag, program: int) -> None:
        self._book, self._program = book, program
        self._word, self._count = tag.word, tag.count

    def frame(self) -> int:
        """Who calls, for all calls that follow from there."""
        return self._book.recorder.frame()

    def begin(self, frame: int, calls: int = 1) -> Record:
        """The call begins. Several of them in one go are recorded as the first, and counted as what they are."""
        book = self._book
        return book.recorder.begin(self._word, self._count, book.count(calls), book.group, self._program, frame)

    def label(self, frame: int) -> Label:
        return self._book.group, self._program, frame, self._word, self._count

    def made(self) -> AbstractContextManager[None]:
        """Around the call. What breaks it off is recorded too."""
        return left(self.begin(self.frame()))
