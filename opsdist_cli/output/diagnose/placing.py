"""In which column the nodes of a wait-for graph are drawn: who waits left of who is waited for, rings as stacks.

A column is as far from the right as the longest chain of waiting from there. An edge that passes a column has a place
in it, so that no line ever crosses a box. Pure. May import: from this package.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opsdist_cli.output.diagnose.waitgraph import Edge, Graph


@dataclass(frozen=True, slots=True)
class Pass:
    """The place of an edge in a column that it passes."""

    edge: Edge


Stack = tuple[int, ...]
"""Nodes that wait for each other, below each other; mostly one node alone."""


def columns(graph: Graph) -> list[list[Stack | Pass]]:
    """From left to right, each from top to bottom."""
    ring_of = {node: number for number, ring in enumerate(graph.rings) for node in ring}
    across = [edge for edge in graph.edges if ring_of[edge.source] != ring_of[edge.target]]
    depth = _depths(graph.rings, [(ring_of[edge.source], ring_of[edge.target]) for edge in across])
    found: list[list[Stack | Pass]] = []
    place: dict[int | Pass, float] = {}
    for distance in range(max(depth, default=0) + 1):
        column: list[Stack | Pass] = [ring for number, ring in enumerate(graph.rings) if depth[number] == distance]
        column += [Pass(e) for e in across if depth[ring_of[e.target]] < distance < depth[ring_of[e.source]]]
        pull = {item: _pull(item, across, place) for item in column}
        column.sort(key=pull.__getitem__)
        for position, item in enumerate(column):
            place |= dict.fromkeys((item,) if isinstance(item, Pass) else item, position)
        found.insert(0, column)
    return found


def _pull(item: Stack | Pass, across: Sequence[Edge], place: Mapping[int | Pass, float]) -> float:
    """The middle of where its edges lead to, in the column right of it."""
    edges = [item.edge] if isinstance(item, Pass) else [edge for edge in across if edge.source in item]
    ends = [place.get(Pass(edge), place.get(edge.target, 0.0)) for edge in edges]
    return sum(ends) / len(ends) if ends else 0.0


def _depths(rings: Sequence[Stack], edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest chain from each ring to one that waits for nobody outside of it."""
    out: dict[int, set[int]] = defaultdict(set)
    for source, target in edges:
        out[source].add(target)
    depth = [0] * len(rings)
    for ring in range(len(rings)):  # whoever is waited for comes first: so `components` gives them
        depth[ring] = max((depth[target] + 1 for target in out[ring]), default=0)
    return depth
