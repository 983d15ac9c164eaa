"""The wait-for graph as a drawing: one SVG file, without anything from outside. Pure: a record in, text out.

    [ranks 0-6,8-15]-- allreduce #9 of tensor ----->[rank 7]      victims left, chains of waiting end at the right;
                                                    [culprit]     who wait for each other stand below each other
May import: from this package, and topo's canvas.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from opsdist_cli.output.diagnose.geometry import (
    LINE,
    MARGIN,
    SMALL,
    TEXT,
    Box,
    Geometry,
    geometry,
    inside,
    label,
    words,
)
from opsdist_cli.output.diagnose.naming import Record, cut
from opsdist_cli.output.diagnose.waitgraph import CULPRIT, SUSPECT, VICTIM, Edge, Graph, folded_graph
from opsdist_cli.output.topo import ink
from opsdist_cli.output.topo.canvas import Canvas

_STYLES: Mapping[str, ink.Style] = {
    CULPRIT: {"fill": "#fdecee", "stroke": ink.ALARM, "stroke_width": 3, "rx": 6},
    SUSPECT: {"fill": "#fff4dc", "stroke": ink.NEAR, "stroke_width": 2, "stroke_dasharray": "7 4", "rx": 6},
    VICTIM: {"fill": "#f7f7f7", "stroke": ink.FAINT, "rx": 6},
}
_LEGEND = "red: culprit; amber, dashed: suspect; grey: waits. An arrow leads to who is waited for, and says where."
_NARROWEST = 760.0
_TITLE_LETTERS = 88
_TITLE_LINES = 4
_LANE = 12.0

Point = tuple[float, float]


def render(record: Record) -> str:
    canvas, graph, verdict = Canvas(), folded_graph(record), record["verdict"]
    sentence = f"{verdict['class']} ({verdict['confidence']}): {verdict['explanation']}"
    top = MARGIN
    for text in textwrap.wrap(cut(sentence, _TITLE_LETTERS * _TITLE_LINES), _TITLE_LETTERS):
        canvas.words(MARGIN, top + 14, text, 14, text_anchor="start", font_weight="bold")
        top += 20
    found = geometry(graph, top + 16)
    _boxes(canvas, graph, found)
    _lines(canvas, graph, found)
    bottom = found.bottom + 20
    said = _LEGEND if graph.nodes else "Nobody is known to wait for anybody."
    canvas.words(MARGIN, bottom, said, SMALL, text_anchor="start", fill=ink.FAINT)
    right = max(_NARROWEST, found.right + MARGIN, canvas.right + MARGIN)
    return canvas.document(right, bottom + MARGIN, f"who waits for whom: {cut(sentence, 120)}")


def _boxes(canvas: Canvas, graph: Graph, found: Geometry) -> None:
    alone = {edge.source for edge in graph.edges if edge.within}
    for number, node in enumerate(graph.nodes):
        box, lines = found.boxes[number], words(node, number in alone)
        canvas.box("boxes", box.left, box.top, box.wide, box.high, **_STYLES[node.kind])
        y = box.top + (box.high - LINE * len(lines)) / 2 + TEXT
        for line in lines:
            weight = "bold" if line in (CULPRIT, SUSPECT) else "normal"
            canvas.words(box.middle, y, line, TEXT, font_weight=weight)
            y += LINE


def _lines(canvas: Canvas, graph: Graph, found: Geometry) -> None:
    stacks = {node: ring for ring in graph.rings for node in ring}
    across = [edge for edge in graph.edges if not inside(edge, stacks)]
    leave = _ports(((edge.source, found.boxes[edge.target].top, edge) for edge in across), found.boxes)
    enter = _ports(((edge.target, found.boxes[edge.source].top, edge) for edge in across), found.boxes)
    for edge in across:
        _across(canvas, edge, found, leave[edge], enter[edge])
    for ring in graph.rings:
        within = [edge for edge in graph.edges if stacks[edge.source] == ring and edge not in leave and not edge.within]
        if len(ring) > 1:
            _ring(canvas, ring, within, found)


def _ports(ends: Iterable[tuple[int, float, Edge]], boxes: Mapping[int, Box]) -> dict[Edge, float]:
    """The heights at which edges leave or enter boxes, in the order of their other ends."""
    by_box: dict[int, list[tuple[float, Edge]]] = defaultdict(list)
    for number, other, edge in ends:
        by_box[number].append((other, edge))
    heights = {}
    for number, edges in by_box.items():
        edges.sort(key=lambda end: (end[0], end[1].source, end[1].target))
        box = boxes[number]
        for place, (_, edge) in enumerate(edges, 1):
            heights[edge] = box.top + box.high * place / (len(edges) + 1)
    return heights


def _across(canvas: Canvas, edge: Edge, found: Geometry, leave: float, enter: float) -> None:
    first, last = found.column_of[edge.source], found.column_of[edge.target]
    points: list[Point] = [(found.boxes[edge.source].right, leave), (found.columns[first].leave, leave)]
    for number in range(first + 1, last):
        y = found.passes[number, edge]
        points += [(found.columns[number].enter, y), (found.columns[number].leave, y)]
    points += [(found.columns[last].enter, enter), (found.boxes[edge.target].left, enter)]
    _arrow(canvas, points)
    canvas.tag((points[0][0] + points[1][0]) / 2, leave, label(edge), SMALL)


def _ring(canvas: Canvas, ring: Sequence[int], within: Sequence[Edge], found: Geometry) -> None:
    """From each straight down to the next one, from the last one around to the first one, others by lanes."""
    following = set(pairwise(ring))
    lane = 1
    for edge in within:
        one, other = found.boxes[edge.source], found.boxes[edge.target]
        if (edge.source, edge.target) in following:
            _arrow(canvas, [(one.middle, one.bottom), (other.middle, other.top)])
            canvas.tag(one.middle, (one.bottom + other.top) / 2 - 3, label(edge), SMALL)
            continue
        x = one.left - _LANE * lane
        lane += 1
        if (edge.source, edge.target) == (ring[-1], ring[0]):
            under, over = one.bottom + 16, other.top - 24
            around = [(one.middle, one.bottom), (one.middle, under), (x, under), (x, over), (other.middle, over)]
            _arrow(canvas, [*around, (other.middle, other.top)])
            canvas.tag(other.middle, over, label(edge), SMALL)
        else:
            start, end = one.top + one.high * 0.75, other.top + other.high * 0.25
            _arrow(canvas, [(one.left, start), (x, start), (x, end), (other.left, end)])


def _arrow(canvas: Canvas, points: Sequence[Point]) -> None:
    for (x1, y1), (x2, y2) in pairwise(points):
        if (x1, y1) != (x2, y2):
            canvas.line("lanes", x1, y1, x2, y2, stroke=ink.FAINT, stroke_width=1.5)
    _head(canvas, *points[-2:])


def _head(canvas: Canvas, before: Point, tip: Point) -> None:
    """Two short strokes; the last piece of a line is level, or upright."""
    (x1, y1), (x, y) = before, tip
    upright = x1 == x
    back = 8.0 if not upright or y > y1 else -8.0
    for side in (-4.0, 4.0):
        start = (x + side, y - back) if upright else (x - back, y + side)
        canvas.line("stubs", *start, x, y, stroke=ink.DARK, stroke_width=1.5)
