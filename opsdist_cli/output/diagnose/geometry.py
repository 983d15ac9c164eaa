"""Sizes and places of a drawn wait-for graph: boxes, and where lines leave and enter them. Pure.

A column has, from left to right: lanes of edges inside of rings, boxes, and room for the labels of edges that leave.
May import: from this package, and topo's canvas.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opsdist_cli.output.diagnose.placing import Pass, Stack, columns
from opsdist_cli.output.diagnose.waitgraph import VICTIM, Edge, Graph, Node
from opsdist_cli.output.topo.canvas import fitted, width

MARGIN = 28.0
TEXT, SMALL = 13.0, 11.0
LINE = 17.0
_LETTERS = 34
_LABEL = 300.0
_PORT = 20.0
"""Between lines that leave a box, so that their labels have room; those that enter need half of it."""
_GAP, _RING_GAP = 18.0, 46.0
_LANE = 12.0
_SLANT = 80.0


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    wide: float
    high: float

    @property
    def right(self) -> float:
        return self.left + self.wide

    @property
    def bottom(self) -> float:
        return self.top + self.high

    @property
    def middle(self) -> float:
        return self.left + self.wide / 2


@dataclass(frozen=True, slots=True)
class Column:
    """`enter`: where lines come in from the left; `leave`: where labels end."""

    enter: float
    left: float
    wide: float
    leave: float


@dataclass(slots=True)
class Geometry:
    columns: list[Column] = field(default_factory=list)
    column_of: dict[int, int] = field(default_factory=dict)
    boxes: dict[int, Box] = field(default_factory=dict)
    passes: dict[tuple[int, Edge], float] = field(default_factory=dict)
    """The height at which an edge passes a column."""
    bottom: float = 0.0

    @property
    def right(self) -> float:
        return self.columns[-1].leave


def words(node: Node, among_themselves: bool) -> list[str]:
    """What stands in its box: the ranks, their host, and what they are."""
    lines = textwrap.wrap(node.name.replace(",", ", "), _LETTERS)
    lines += [f"on {node.host}"] if node.host else []
    lines += [] if node.kind == VICTIM else [node.kind]
    return [*lines, "wait for each other"] if among_themselves else lines


def label(edge: Edge) -> str:
    return fitted(edge.label, SMALL, _LABEL)


def inside(edge: Edge, stacks: Mapping[int, Stack]) -> bool:
    """Whether both of its ends are in one ring."""
    return stacks[edge.source] == stacks[edge.target]


def geometry(graph: Graph, top: float) -> Geometry:
    """Of the whole drawing below `top`."""
    placed, stacks = columns(graph), {node: ring for ring in graph.rings for node in ring}
    heights = _heights(graph, stacks)
    high = max((_height(column, heights) for column in placed), default=0.0)
    found = Geometry(bottom=top + high)
    left = MARGIN
    for number, items in enumerate(placed):
        column = _column(left, items, graph, stacks)
        found.columns.append(column)
        _stack_up(found, number, items, heights, top + (high - _height(items, heights)) / 2)
        left = column.leave + _SLANT
    return found


def _column(left: float, items: Sequence[Stack | Pass], graph: Graph, stacks: Mapping[int, Stack]) -> Column:
    nodes = {node for item in items if not isinstance(item, Pass) for node in item}
    within = [edge for edge in graph.edges if edge.source in nodes and inside(edge, stacks) and not edge.within]
    lanes = _LANE * (len(within) + 1 + bool(nodes))
    texts = [width(line, TEXT) + 16 for node in nodes for line in words(graph.nodes[node], False)]
    wide = max([*texts, *(width(label(edge), SMALL) + 16 for edge in within), 120.0 if nodes else 0.0])
    leaving = [edge for edge in graph.edges if edge.source in nodes and not inside(edge, stacks)]
    room = max((width(label(edge), SMALL) + 24 for edge in leaving), default=0.0)
    return Column(left, left + lanes, wide, left + lanes + wide + room)


def _heights(graph: Graph, stacks: Mapping[int, Stack]) -> list[float]:
    out: dict[int, int] = defaultdict(int)
    into: dict[int, int] = defaultdict(int)
    alone = {edge.source for edge in graph.edges if edge.within}
    for edge in graph.edges:
        if not edge.within:
            out[edge.source] += not inside(edge, stacks)
            into[edge.target] += 1
    return [
        max(LINE * len(words(node, number in alone)) + 12, _PORT * (out[number] + 1), _PORT / 2 * (into[number] + 1))
        for number, node in enumerate(graph.nodes)
    ]


def _height(items: Sequence[Stack | Pass], heights: Sequence[float]) -> float:
    return sum(_item_height(item, heights) + _GAP for item in items)


def _item_height(item: Stack | Pass, heights: Sequence[float]) -> float:
    if isinstance(item, Pass):
        return _PORT
    gaps = _RING_GAP * (len(item) + 1) if len(item) > 1 else 0.0
    return sum(heights[node] for node in item) + gaps


def _stack_up(
    found: Geometry, number: int, items: Sequence[Stack | Pass], heights: Sequence[float], top: float
) -> None:
    column = found.columns[number]
    for item in items:
        if isinstance(item, Pass):
            found.passes[number, item.edge] = top + _PORT / 2
        else:
            y = top
            for node in item:
                y += _RING_GAP if len(item) > 1 else 0.0
                found.boxes[node] = Box(column.left, y, column.wide, heights[node])
                found.column_of[node] = number
                y += heights[node]
        top += _item_height(item, heights) + _GAP
