"""The network cards nearest to each accelerator. May import: probes.topology.graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from probes.topology.graph import Edge, Nearest, Node, is_near, strength

_OWN_PORTS = frozenset({"ascend"})
"""Vendors whose accelerators have network ports of their own, and do not depend on the host's cards."""


def nearest(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[Nearest, ...]:
    """All that are tied, of those that can do RDMA, or of all where none can."""
    links = {pair: edge for edge in edges for pair in ((edge.a, edge.b), (edge.b, edge.a))}
    able = [node.name for node in nodes if node.kind == "rdma"] or [node.name for node in nodes if node.kind == "nic"]
    found: list[Nearest] = []
    for node in nodes:
        reached = {nic: links[node.name, nic] for nic in able if (node.name, nic) in links}
        if node.kind == "accelerator" and reached:
            best = min(reached.values(), key=lambda edge: strength(edge.kind))
            tied = tuple(nic for nic, edge in reached.items() if edge.kind == best.kind)
            far = not is_near(best.kind) and node.attributes.get("vendor") not in _OWN_PORTS
            found.append(Nearest(node.name, tied, best.kind, best.source, far))
    mostly_near = 2 * sum(is_near(one.kind) for one in found) > len(found)
    return tuple(one if mostly_near else replace(one, far=False) for one in found)
