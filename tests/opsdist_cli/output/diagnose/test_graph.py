"""The wait-for graph: folded, placed without overlaps, as DOT and as SVG."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest

from opsdist_cli.output.diagnose import draw
from opsdist_cli.output.diagnose.geometry import geometry
from opsdist_cli.output.diagnose.waitgraph import CULPRIT, MOST, SUSPECT, folded_graph
from tests.opsdist_cli.output.diagnose.records import (
    USUAL,
    Record,
    culprit,
    diagnosis,
    verdict,
    waits,
)


def ring() -> Record:
    """Four in a circle over rows and columns, eight that wait for them, and one for whom an edge passes a column."""
    edges = [*waits([0], [1], "row"), *waits([1], [3], "column"), *waits([3], [2], "row"), *waits([2], [0], "column")]
    edges += [*waits(range(4, 8), [0]), *waits(range(8, 12), [1]), *waits([12], [4], "p"), *waits([12], [3], "q")]
    members = [culprit(rank) for rank in range(4)]
    return diagnosis(verdict=verdict(**{"class": "cycle"}, culprits=members), waits=edges)


def grid(side: int = 32) -> Record:
    """Rank 5 of row 0 is missing: its row waits for it, and every column for its member of that row."""
    edges = waits([rank for rank in range(side) if rank != 5], [5], "row")
    for column in range(side):
        edges += waits(range(side + column, side * side, side), [column], f"column{column}")
    return diagnosis(verdict=verdict(culprits=[culprit(5)]), waits=edges)


def chain(length: int = 200) -> Record:
    edges = [edge for rank in range(length) for edge in waits([rank], [rank + 1], None, op="send", seq=rank)]
    return diagnosis(verdict=verdict(culprits=[culprit(length)]), waits=edges)


def pipelines(count: int = 40, stages: int = 4) -> Record:
    """Stage by stage, all for a first stage that waits for one rank."""
    last = count * stages
    edges = waits(range(count), [last], "stage")
    for stage in range(1, stages):
        edges += [e for one in range(count) for e in waits([stage * count + one], [(stage - 1) * count + one], "stage")]
    return diagnosis(verdict=verdict(culprits=[culprit(last)]), waits=edges)


def tangle() -> Record:
    """Everybody waits for a few others, in no order."""
    edges = [e for rank in range(300) for step in (7, 31, 113) for e in waits([rank], [(rank * step + step) % 300])]
    return diagnosis(verdict=verdict(culprits=[culprit(0)]), waits=edges)


ALL = {"usual": USUAL, "ring": ring(), "grid": grid(), "chain": chain(), "tangle": tangle(), "pipelines": pipelines()}
ALL["nobody"] = diagnosis(verdict=verdict(culprits=[]))
ALL["device"] = diagnosis(verdict=verdict(culprits=[{"kind": "device", "device": "npu3", "host": "node05"}]))


def test_ranks_that_wait_alike_are_one_node() -> None:
    graph = folded_graph(USUAL)
    assert {node.name: node.kind for node in graph.nodes} == {
        "rank 7": CULPRIT, "rank 3": SUSPECT, "ranks [0-2,4-6,8-15]": "waits",
    }  # fmt: skip
    assert {edge.label for edge in graph.edges} == {"allreduce #1234 of tensor"}


def test_members_of_a_cycle_stay_apart_in_the_order_of_their_waits() -> None:
    graph = folded_graph(ring())
    (circle,) = [members for members in graph.rings if len(members) > 1]
    assert [graph.nodes[number].name for number in circle] == ["rank 0", "rank 1", "rank 3", "rank 2"]


def test_ranks_that_wait_for_ranks_that_wait_alike_are_one_node() -> None:
    graph = folded_graph(pipelines())
    names = [node.name for node in graph.nodes]
    assert names == ["rank 160", "ranks [0-39]", "ranks [40-79]", "ranks [80-119]", "ranks [120-159]"]
    assert [(edge.source, edge.target) for edge in graph.edges] == [(1, 0), (2, 1), (3, 2), (4, 3)]


@pytest.mark.parametrize("name", ALL)
def test_every_rank_is_in_one_node_and_nodes_are_few(name: str) -> None:
    record = ALL[name]
    graph = folded_graph(record)
    ranks = [rank for node in graph.nodes for rank in node.ranks]
    named = {one["rank"] for one in record["verdict"]["culprits"] if "rank" in one}
    assert sorted(ranks) == sorted({wait[end] for wait in record["waits"] for end in ("from", "to")} | named)
    assert len(graph.nodes) <= MOST
    culprits = {rank for node in graph.nodes if node.kind == CULPRIT for rank in node.ranks}
    assert culprits == named


@pytest.mark.parametrize("name", ALL)
def test_every_wait_is_drawn(name: str) -> None:
    graph = folded_graph(ALL[name])
    node_of = {rank: number for number, node in enumerate(graph.nodes) for rank in node.ranks}
    drawn = {(edge.source, edge.target) for edge in graph.edges}
    assert drawn == {(node_of[wait["from"]], node_of[wait["to"]]) for wait in ALL[name]["waits"]}


@pytest.mark.parametrize("name", ALL)
def test_boxes_do_not_overlap_and_who_waits_is_left_of_who_is_waited_for(name: str) -> None:
    graph = folded_graph(ALL[name])
    found = geometry(graph, 0.0)
    for one, other in combinations(found.boxes.values(), 2):
        apart = one.right <= other.left or other.right <= one.left
        assert apart or one.bottom <= other.top or other.bottom <= one.top
    stacks = {node: ring for ring in graph.rings for node in ring}
    for edge in graph.edges:
        if stacks[edge.source] != stacks[edge.target]:
            assert found.boxes[edge.source].right < found.boxes[edge.target].left


@pytest.mark.parametrize("name", ALL)
def test_a_passing_line_crosses_no_box(name: str) -> None:
    found = geometry(folded_graph(ALL[name]), 0.0)
    for (number, _), y in found.passes.items():
        boxes = [box for node, box in found.boxes.items() if found.column_of[node] == number]
        assert not any(box.top <= y <= box.bottom for box in boxes)


@pytest.mark.parametrize("name", ALL)
def test_the_drawing_is_a_document_with_all_boxes_inside(name: str) -> None:
    root = ElementTree.fromstring(draw(".svg", ALL[name]))
    wide, high = float(root.get("width", "0")), float(root.get("height", "0"))
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(box.get("x", "0")) + float(box.get("width", "0")) <= wide
        assert float(box.get("y", "0")) + float(box.get("height", "0")) <= high


def test_dot_marks_the_culprit_and_names_the_collective() -> None:
    text = draw(".dot", USUAL)
    assert 'n0 [label="rank 7 on node02\\nculprit", color="#b00020"' in text
    assert 'n1 -> n0 [label="allreduce #1234 of tensor"]' in text


def test_names_from_outside_cannot_break_out() -> None:
    record = diagnosis(waits=waits([1], [7], '"]; evil <b>&'))
    ElementTree.fromstring(draw(".svg", record))
    assert '\\"]; evil' in draw(".dot", record)
