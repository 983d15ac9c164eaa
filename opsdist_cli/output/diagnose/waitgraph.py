"""The wait-for graph, folded so that people can read it: ranks that wait alike are one node.

The gentlest way of folding that leaves few nodes is taken: same waits in both directions; same waits for the same
nodes (a chain of classes, as of states of an automaton); the same without the names of groups; and at last whoever is
far from the end of its chain is put together with others of the kind.
May import: from this package, and suites' graphs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from opsdist_cli.output.diagnose.naming import Record, called, collective, host_of, named
from suites.diagnose.graph import components

MOST = 60
"""Nodes that can be read."""
_MOST_EDGES = 150
_MOST_NAMES = 1
"""Of collectives at one edge."""

CULPRIT, SUSPECT, VICTIM = "culprit", "suspect", "waits"
_ORDER = {CULPRIT: 0, SUSPECT: 1, VICTIM: 2}

Part = Mapping[int, int]
"""rank -> number of its node."""


@dataclass(frozen=True, slots=True)
class Node:
    """Ranks that wait alike, or something else that is named, such as a device."""

    kind: str
    name: str
    ranks: tuple[int, ...] = ()
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """From who waits to who is waited for, as numbers of nodes. `within`: among the ranks of one node."""

    source: int
    target: int
    label: str

    @property
    def within(self) -> bool:
        return self.source == self.target


@dataclass(frozen=True, slots=True)
class Graph:
    """`rings`: nodes that wait for each other, in the order of their waits; every node is in one, mostly alone."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    rings: tuple[tuple[int, ...], ...]


def folded_graph(record: Record) -> Graph:
    kinds = _kinds(record)
    waits = record["waits"]
    part = _folding(kinds, waits)
    ranks_of: dict[int, list[int]] = defaultdict(list)
    for rank in sorted(part):
        ranks_of[part[rank]].append(rank)
    parts = sorted(ranks_of, key=lambda number: (_ORDER[kinds[ranks_of[number][0]]], ranks_of[number][0]))
    place = {number: index for index, number in enumerate(parts)}
    hosts = host_of(record)
    nodes = [_node(ranks_of[number], kinds, hosts) for number in parts]
    edges = _edges({rank: place[number] for rank, number in part.items()}, waits)
    nodes += [Node(CULPRIT, name) for name in _things(record["verdict"]["culprits"])]
    nodes += [Node(SUSPECT, name) for name in _things(record["verdict"]["suspects"])]
    return Graph(tuple(nodes), tuple(edges), _rings(len(nodes), edges))


def _node(ranks: Sequence[int], kinds: Mapping[int, str], hosts: Mapping[int, str]) -> Node:
    at = {hosts.get(rank) for rank in ranks}
    return Node(kinds[ranks[0]], called(ranks), tuple(ranks), at.pop() if len(at) == 1 else None)


def _kinds(record: Record) -> dict[int, str]:
    """Of all ranks that wait, are waited for, or are named."""
    kinds = {wait[end]: VICTIM for wait in record["waits"] for end in ("from", "to")}
    for group in record["groups"]:
        kinds |= dict.fromkeys([rank for rank in (*group["waiting"], *group["absent"]) if rank not in kinds], VICTIM)
    on: dict[str, list[int]] = defaultdict(list)
    for rank, host in host_of(record).items():
        on[host].append(rank)
    for kind, key in ((SUSPECT, "suspects"), (CULPRIT, "culprits")):
        for subject in record["verdict"][key]:
            kinds |= dict.fromkeys(_ranks_of(subject, on), kind)
    return kinds


def _ranks_of(subject: Record, on: Mapping[str, Sequence[int]]) -> list[int]:
    if subject["kind"] == "host":
        return list(on.get(subject.get("host", ""), ()))
    peer = subject.get("peer")
    ends = [subject["rank"]] if "rank" in subject else []
    return [*ends, *([peer] if subject["kind"] == "link" and isinstance(peer, int) else [])]


def _things(subjects: Iterable[Record]) -> list[str]:
    """What is named beside ranks."""
    return named([subject for subject in subjects if subject["kind"] != "rank" or "rank" not in subject])


def _folding(kinds: Mapping[int, str], waits: Sequence[Record]) -> Part:
    exact = _numbered({rank: (kinds[rank], *sides) for rank, sides in _both_ways(kinds, waits).items()})
    if _readable(exact, waits):
        return exact
    for label in (_where, _what):
        part = _refined(kinds, waits, label)
        if _readable(part, waits):
            return part
    return _cut_off(part, kinds, waits)


def _where(wait: Record) -> Hashable:
    return wait["group"], wait["seq"], wait["op"]


def _what(wait: Record) -> Hashable:
    return str(wait["op"])


def _readable(part: Part, waits: Sequence[Record]) -> bool:
    if len(set(part.values())) > MOST:
        return False
    return len({(part[wait["from"]], part[wait["to"]]) for wait in waits}) <= _MOST_EDGES


def _numbered(signatures: Mapping[int, Hashable]) -> dict[int, int]:
    numbers: dict[Hashable, int] = {}
    return {rank: numbers.setdefault(signatures[rank], len(numbers)) for rank in sorted(signatures)}


def _both_ways(ranks: Iterable[int], waits: Sequence[Record]) -> dict[int, tuple[Hashable, Hashable]]:
    out: dict[int, set[Hashable]] = defaultdict(set)
    into: dict[int, set[Hashable]] = defaultdict(set)
    for wait in waits:
        out[wait["from"]].add((wait["to"], _where(wait)))
        into[wait["to"]].add((wait["from"], _where(wait)))
    return {rank: (frozenset(out[rank]), frozenset(into[rank])) for rank in ranks}


def _refined(kinds: Mapping[int, str], waits: Sequence[Record], label: Callable[[Record], Hashable]) -> Part:
    """The coarsest folding in which ranks of a node wait for the same nodes. Gives up where it gets too fine."""
    part: Part = _numbered(kinds)
    labels = [label(wait) for wait in waits]
    while True:
        out: dict[int, set[Hashable]] = defaultdict(set)
        for wait, told in zip(waits, labels, strict=True):
            out[wait["from"]].add((part[wait["to"]], told))
        finer = _numbered({rank: (part[rank], frozenset(out[rank])) for rank in kinds})
        count = len(set(finer.values()))
        if count == len(set(part.values())) or count > MOST:
            return finer
        part = finer


def _cut_off(part: Part, kinds: Mapping[int, str], waits: Sequence[Record]) -> Part:
    """As many ranks by themselves as can be read, those that are named and those nearest to them first."""
    near = _nearest_first(kinds, waits)
    shown = MOST - len(_ORDER)
    folded: Part = part
    while shown >= 0:
        alone = set(near[:shown])
        folded = _numbered({rank: (rank if rank in alone else None, kinds[rank]) for rank in kinds})
        if _readable(folded, waits):
            return folded
        shown = shown // 2 if shown else -1
    return folded


def _nearest_first(kinds: Mapping[int, str], waits: Sequence[Record]) -> list[int]:
    waiters: dict[int, list[int]] = defaultdict(list)
    for wait in waits:
        waiters[wait["to"]].append(wait["from"])
    order = sorted((rank for rank in kinds if kinds[rank] != VICTIM), key=lambda rank: (_ORDER[kinds[rank]], rank))
    order = order or sorted(set(waiters) - {wait["from"] for wait in waits}) or sorted(kinds)[:1]
    seen = set(order)
    for rank in order:  # which grows
        fresh = [waiter for waiter in dict.fromkeys(sorted(waiters[rank])) if waiter not in seen]
        seen.update(fresh)
        order += fresh
    return [*order, *sorted(set(kinds) - seen)]


def _edges(place: Part, waits: Sequence[Record]) -> list[Edge]:
    names: dict[tuple[int, int], dict[str, None]] = {}
    for wait in waits:
        ends = place[wait["from"]], place[wait["to"]]
        names.setdefault(ends, {})[collective(wait["op"], wait["seq"], wait["group"])] = None
    return [Edge(*ends, _label(list(told))) for ends, told in sorted(names.items())]


def _label(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown


def _rings(count: int, edges: Sequence[Edge]) -> tuple[tuple[int, ...], ...]:
    out: dict[int, set[int]] = {number: set() for number in range(count)}
    for edge in edges:
        if not edge.within:
            out[edge.source].add(edge.target)
    return tuple(_walk(min(ring), ring, out) for ring in components(range(count), out))


def _walk(start: int, ring: set[int], out: Mapping[int, set[int]]) -> tuple[int, ...]:
    """Along the waits, as long as they lead on."""
    order = [start]
    left = set(ring) - {start}
    while left:
        further = sorted(out[order[-1]] & left) or sorted(left)
        order.append(further[0])
        left.discard(further[0])
    return tuple(order)
