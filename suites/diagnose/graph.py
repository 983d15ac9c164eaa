"""The wait-for graph as such: who is waited for, and waits for nobody; who waits in a circle. Pure, of numbers.

A rank in a collective waits for all members that are not there (AND); a receive from anybody waits for any one of them
(OR): it is held up only where all of these are.
May import: the standard library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wait:
    """Each of `waiters` waits for all of `waited`, or, with `either`, for any one of them. `why` is for people."""

    waiters: frozenset[int]
    waited: frozenset[int]
    group: str | None = None
    seq: int | None = None
    op: str | None = None
    why: str = ""
    either: bool = False


@dataclass(frozen=True, slots=True)
class Ends:
    """Where all chains of waiting end."""

    roots: frozenset[int]
    """They are waited for, and wait for nobody."""
    cycles: tuple[frozenset[int], ...]
    """In each all wait for each other, and for nobody else."""


def ends(waits: Sequence[Wait]) -> Ends:
    """Of the graph of these waits, the ends that hold somebody up."""
    out = _edges(waits)
    waited = frozenset().union(*(wait.waited for wait in waits))
    roots = frozenset(node for node in waited if not out.get(node))
    cycles = []
    for part in components(out, out):
        people = frozenset(node for node in part if node >= 0)
        if len(people) > 1 and not any(out.get(node, set()) - part for node in part):
            cycles.append(people)
    return Ends(roots, tuple(sorted(cycles, key=min)))


def _edges(waits: Sequence[Wait]) -> dict[int, set[int]]:
    """Every wait is a node of its own, below 0, between those who wait and those who are waited for: a thousand ranks
    that wait for another thousand are no million of edges."""
    out: dict[int, set[int]] = defaultdict(set)
    for number, wait in enumerate(waits):
        if wait.waited:
            out[-1 - number] = set(wait.waited)
            for waiter in wait.waiters:
                out[waiter].add(-1 - number)
    for number, wait in enumerate(waits):
        free = {other for other in wait.waited if not out.get(other)}
        if wait.either and free:  # held up by these alone: any of the others would have done
            out[-1 - number] = free
    return out


def components(nodes: Iterable[int], out: Mapping[int, Set[int]]) -> list[set[int]]:
    """Strongly connected ones (Tarjan 1972), without recursion: chains are as long as a pipeline is deep, and more."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[set[int]] = []
    for start in nodes:
        if start in index:
            continue
        work = [(start, iter(sorted(out.get(start, ()))))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(sorted(out.get(successor, ())))))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part: set[int] = set()
                    while not part or node not in part:
                        part.add(stack.pop())
                    on_stack -= part
                    found.append(part)
    return found


def reaching(targets: Set[int], waits: Sequence[Wait]) -> set[int]:
    """Everybody from whom a chain of waiting leads to one of the targets, without the targets."""
    by_waited: dict[int, list[Wait]] = defaultdict(list)
    for wait in waits:
        for waited in wait.waited:
            by_waited[waited].append(wait)
    seen, todo = set(targets), list(targets)
    done: set[int] = set()
    while todo:
        for wait in by_waited[todo.pop()]:
            if id(wait) not in done:
                done.add(id(wait))
                todo += wait.waiters - seen
                seen |= wait.waiters
    return seen - set(targets)
