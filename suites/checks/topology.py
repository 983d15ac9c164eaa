"""Rules about where accelerators and network cards are: what only the facts of several sections together tell.

May import: probes.topology, rule, report.
"""

from __future__ import annotations

from collections.abc import Iterator

from probes.topology import graph_of
from suites.checks.rule import Case, Judged, Rule, broken, ok
from suites.report import Status


def _far(case: Case) -> Iterator[Judged]:
    graph = graph_of(case.facts)
    for one in graph.nearest:
        if one.source == "matrix":
            continue  # the vendor's own matrix, of which the vendor's own rules tell
        if not one.far:
            yield ok(one.device)
            continue
        near = next(other for other in graph.nearest if not other.far)
        evidence = {
            "value": f"{one.kind} to {', '.join(one.nics)}",
            "threshold": f"{near.kind}, as {near.device} to {', '.join(near.nics)}",
            "source": "the other accelerators of this host, by PCI addresses and NUMA nodes",
        }
        yield broken(f"{one.device} has no network card on its NUMA node, unlike most others", evidence, one.device)


RULES = (
    Rule(
        name="topology.nic_far",
        summary="every accelerator has a network card on its NUMA node where most have",
        why="Data for other hosts then cross the link between sockets, which is slower and shared, and NCCL gives up "
        "GPUDirect RDMA for that accelerator.",
        remedy="see `opsdist topo` and `lspci -tv`: a card is missing, or in another slot than on its sibling hosts; "
        "in a virtual machine have devices and NUMA nodes passed through as they are",
        status=Status.WARN,
        needs=("accelerators", "network", "rdma", "pcie", "numa"),
        judge=_far,
    ),
)
