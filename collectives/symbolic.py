"""What elements hold, symbolically: whose contributions, of which index. The memory of a simulated rank.

Elements are kept as runs, so a buffer costs what its pattern costs, however long it is. `simulate.py` reads and writes
these instead of numbers.
May import: the standard library only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class Value(NamedTuple):
    """A run of elements: whose contributions they hold, from which source index on, and whether they are complete."""

    length: int
    ranks: int
    """Bit r is set when the contribution of rank r is in."""
    source: int
    complete: bool
    """Set by the fold marked `last`."""


def length_of(values: Sequence[Value]) -> int:
    return values[0].length if len(values) == 1 else sum(value.length for value in values)


def split(values: list[Value], count: int) -> tuple[list[Value], list[Value]]:
    """The first `count` elements, and the rest."""
    if len(values) == 1 and values[0].length == count:
        return values, []
    taken: list[Value] = []
    for index, value in enumerate(values):
        if value.length > count:
            head = Value(count, value.ranks, value.source, value.complete)
            tail = Value(value.length - count, value.ranks, value.source + count, value.complete)
            return [*taken, head] if count else taken, [tail, *values[index + 1 :]]
        taken.append(value)
        count -= value.length
    return taken, []


class Memory:
    """A rank's buffers in one address space, as disjoint runs of values."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._values: list[Value] = []

    def read(self, start: int, stop: int) -> list[Value] | None:
        """The values of [start, stop), or None if any of it was never written."""
        index = max(bisect_right(self._starts, start) - 1, 0)
        if self._starts and self._starts[index] == start and self._values[index].length == stop - start:
            return [self._values[index]]  # mostly what was written as one is read as one
        found: list[Value] = []
        position = start
        while position < stop:
            if index >= len(self._starts) or self._starts[index] > position:
                return None
            base, value = self._starts[index], self._values[index]
            index += 1
            end = min(base + value.length, stop)
            if end <= position:
                continue
            part = Value(end - position, value.ranks, value.source + position - base, value.complete)
            position = end
            found.append(part)
        return found

    def write(self, start: int, values: Sequence[Value]) -> None:
        stop = start + length_of(values)
        if start == stop:
            return
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._starts[first] + self._values[first].length <= start:
            first += 1
        last = first
        new: list[tuple[int, Value]] = []
        while last < len(self._starts) and self._starts[last] < stop:
            base, old = self._starts[last], self._values[last]
            if base < start:
                new.append((base, old._replace(length=start - base)))
            last += 1
        position = start
        for value in values:
            # Neighbours that continue each other become one run, so that reads stay short.
            if new and _continues(*new[-1], position, value):
                base, before = new[-1]
                new[-1] = (base, before._replace(length=before.length + value.length))
            elif value.length:
                new.append((position, value))
            position += value.length
        if last > first:
            base, old = self._starts[last - 1], self._values[last - 1]
            if base + old.length > stop:
                cut = stop - base
                new.append((stop, Value(old.length - cut, old.ranks, old.source + cut, old.complete)))
        self._starts[first:last] = [base for base, _ in new]
        self._values[first:last] = [value for _, value in new]


def _continues(base: int, before: Value, start: int, value: Value) -> bool:
    return (
        base + before.length == start
        and before.ranks == value.ranks
        and before.complete == value.complete
        and before.source + before.length == value.source
    )
