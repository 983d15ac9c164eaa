"""The wait-for graph for Graphviz: `dot -Tsvg`. Pure: a record in, text out. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping

from opsdist_cli.output.diagnose.naming import Record, cut
from opsdist_cli.output.diagnose.waitgraph import CULPRIT, SUSPECT, VICTIM, Node, folded_graph
from opsdist_cli.output.topo.dot import quoted

_LOOKS: Mapping[str, str] = {
    CULPRIT: 'color="#b00020", fillcolor="#fdecee", penwidth=3',
    SUSPECT: 'color="#8a5a00", fillcolor="#fff4dc", penwidth=2, style="rounded,filled,dashed"',
    VICTIM: 'color="#555555", fillcolor="#f7f7f7"',
}
_TITLE = 200


def render(record: Record) -> str:
    graph, verdict = folded_graph(record), record["verdict"]
    title = cut(f"{verdict['class']} ({verdict['confidence']}): {verdict['explanation']}", _TITLE)
    return "\n".join([
        "digraph waits {",
        f"  label={quoted(title)}; labelloc=t;",
        '  rankdir=LR; node [shape=box, style="rounded,filled", fontsize=11]; edge [fontsize=10];',
        *(f"  n{number} {_attributes(node)};" for number, node in enumerate(graph.nodes)),
        *(f"  n{edge.source} -> n{edge.target} [label={quoted(edge.label)}];" for edge in graph.edges),
        "}",
    ])  # fmt: skip


def _attributes(node: Node) -> str:
    label = node.name + (f" on {node.host}" if node.host else "") + (f"\n{node.kind}" if node.kind != VICTIM else "")
    return f"[label={quoted(label)}, {_LOOKS[node.kind]}]"
