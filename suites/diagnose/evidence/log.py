"""Reads a log: its lines, peeled and made whole, go to the line readers that they concern.

May import: facts, archive, gate, line, peel, records, source, text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from suites.diagnose.evidence.archive import DAMAGED
from suites.diagnose.evidence.gate import Gate
from suites.diagnose.evidence.line import Line, LineReader, merged
from suites.diagnose.evidence.peel import Peeler
from suites.diagnose.evidence.records import ENDS, begins, cut_off, joined, split, unfinished
from suites.diagnose.evidence.source import Source
from suites.diagnose.evidence.text import Block, blocks, texts, wrapped_at
from suites.diagnose.facts import Fact, Unread

_MOST_JOINED = 16
"""Lines that one record was broken into."""


def read_log(source: Source, head: bytes, readers: Mapping[str, LineReader]) -> Iterator[Fact]:
    """All that the readers find; where a source breaks off, what came before."""
    reading = _Reading(source, head, readers)
    try:
        with source.open() as stream:
            for block in blocks(stream):
                yield from reading.block(block)
    except DAMAGED as error:
        yield Unread(source.name, f"from line {reading.next_line} on: {error}", breaks_off=True)
    yield from reading.end()


class _Reading:
    def __init__(self, source: Source, head: bytes, readers: Mapping[str, LineReader]) -> None:
        shown = "\n".join(text for line in head.replace(b"\0", b"").split(b"\n") for text in texts(line))
        self.next_line = 1
        """The first that was not looked at yet."""
        self._source = source
        self._peeler = Peeler(shown)
        self._width = wrapped_at(shown)
        self._readers = list(readers.items())
        self._broken: set[str] = set()
        self._gate = Gate([*(reader.wakes for reader in readers.values()), tuple(ENDS)])
        self._ends = 1 << len(readers)
        """The bit of what is in records that get broken: it wakes nobody."""
        self._kept = b""
        self._listening = sum(reader.awake << bit for bit, (_, reader) in enumerate(self._readers))
        """A bit for each that is awake."""

    def block(self, block: Block) -> Iterator[Fact]:
        last = not block.data.endswith((b"\n", b"\r")) and not block.cut
        yield from self._lines(self._kept + block.data, block.first - self._kept.count(b"\n"), last=last)
        if block.cut:
            yield Unread(self._source.name, f"line {block.first}: only its first {len(block.data)} bytes were read")

    def end(self) -> Iterator[Fact]:
        yield from self._lines(self._kept, self.next_line, last=True)
        for name, reader in self._readers:
            yield from self._safely(name, reader.end)

    def _lines(self, data: bytes, first: int, *, last: bool) -> Iterator[Fact]:
        """A record that may go on in the next block is kept for it, unless this is the last."""
        ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10)
        edges = [0, *(ends + 1).tolist()]
        if edges[-1] < len(data):
            edges.append(len(data))
        found = self._gate.hits(data, ends)
        ending = (found & self._ends > 0).tolist()
        found &= self._ends - 1
        masks, hits = found.tolist(), np.flatnonzero(found).tolist()
        at = 0
        self._kept = b""
        count = len(edges) - 1
        while at < count:
            if not (masks[at] or self._width or self._gate.always or self._listening):
                at = hits[place] if (place := bisect_left(hits, at)) < len(hits) else count
                if at == count:
                    break
            line = data[edges[at] : edges[at + 1]]
            shown = texts(line)
            whole, after = shown[-1] if shown else "", at + 1
            if self._width or ending[at] or b"\x1b" in line:
                whole, after = self._whole(whole, data, edges, after)
            if after == count and not last and data.endswith(b"\n") and self._open(whole, after - at):
                self._kept = data[edges[at] :]
                break
            if after == count and last and not data.endswith(b"\n") and cut_off(whole):
                yield Unread(self._source.name, f"line {first + at}: the log breaks off in it", breaks_off=True)
                break
            for text in [*shown[:-1], whole]:
                yield from self._record(text, first + at, masks[at] if after == at + 1 == at + len(shown) else -1)
            at = after
        self.next_line = first + at

    def _whole(self, text: str, data: bytes, edges: list[int], after: int) -> tuple[str, int]:
        """The text with the lines that are its rest, and the number of the first line behind them."""
        limit = min(len(edges) - 1, after + _MOST_JOINED)
        width = len(text)
        while after < limit and (width == self._width or unfinished(text)):
            rest = next(iter(texts(data[edges[after] : edges[after + 1]])), "")
            if not rest.strip() or begins(rest) or self._peeler.peel(rest).wrapped:
                break
            text, width, after = joined(text, rest), len(rest), after + 1
        return text, after

    def _open(self, text: str, count: int) -> bool:
        return count < _MOST_JOINED and (self._width is not None or unfinished(text))

    def _record(self, text: str, number: int, mask: int) -> Iterator[Fact]:
        """`mask` tells whom it concerns; -1: that is to be found out."""
        peeled = self._peeler.peel(text)
        who, stamp = merged(self._source.who, peeled.who), peeled.stamp
        parts = split(peeled.text)
        for part in parts:
            if part is not peeled.text:
                again = self._peeler.peel(part)
                part, who, stamp = again.text, merged(who, again.who), again.stamp or stamp
            time = None if stamp is None or stamp.yearless else stamp.seconds
            line = Line(part, number, self._source.name, who, time, stamp)
            yield from self._feed(line, mask if len(parts) == 1 else -1)

    def _feed(self, line: Line, mask: int) -> Iterator[Fact]:
        if mask < 0:
            wanted = (any(text in line.text for text in reader.wakes) for _, reader in self._readers)
            mask = sum(woken << bit for bit, woken in enumerate(wanted))
        concerned = mask | self._listening
        while concerned:
            bit = (concerned & -concerned).bit_length() - 1
            concerned &= concerned - 1
            name, reader = self._readers[bit]
            yield from self._safely(name, reader.feed, line)
            self._listening = self._listening & ~(1 << bit) | (reader.awake and name not in self._broken) << bit

    def _safely(self, name: str, give: Callable[..., Iterable[Fact]], *told: Line) -> Iterator[Fact]:
        """A reader that fails is not asked again; the others go on."""
        if name in self._broken:
            return
        try:
            yield from give(*told)
        except Exception as error:
            self._broken.add(name)
            yield Unread(self._source.name, f"the reader of {name} failed: {type(error).__name__}: {error}")
