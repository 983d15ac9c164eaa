"""How the devices of hosts reach each other, as a report: the graph of each host, made of the facts of `info`.

May import: probes.topology, checks, hostinfo, report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from probes.topology import SECTIONS, graph_of
from probes.topology.graph import Graph, strength
from suites.checks.judging import judge
from suites.checks.topology import RULES
from suites.hostinfo import Looked, Wanted, plain
from suites.report import Finding, Report, Status, now

WANTED = Wanted(SECTIONS, hurry=True)
"""What is to be looked at. The details that take long to tell say nothing of links."""


def report(command: Sequence[str], started: datetime, looked: Looked) -> Report:
    """The topology of hosts that were looked at for WANTED."""
    hosts = [_host(host.name, graph_of(host.facts)) for host in looked.seen]
    found: list[Finding] = [finding for host in looked.seen for finding in host.findings]
    judged = judge({host.name: host.facts for host in looked.seen}, RULES, {})
    result = Report("topo", list(command), started)
    result.findings = [*found, *(each for each in judged if each.status is not Status.PASS), *looked.unreached]
    result.body = {"hosts": hosts}
    result.exit_code = 0 if any(host["nodes"] for host in hosts) else 3
    result.ended = now()
    return result


def summary(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What is to be said of a host's topology beside its other facts: the nearest network cards of each accelerator,
    what breaks the symmetry, and how many links of each kind accelerators have among themselves."""
    graph = graph_of(facts)
    return {
        "nearest_nic": {one.device: list(one.nics) for one in graph.nearest},
        "asymmetries": plain(graph.asymmetries),
        "links": _links(graph),
    }


def _host(name: str, graph: Graph) -> dict[str, Any]:
    return {
        "name": name,
        "nodes": plain(graph.nodes),
        "edges": plain(graph.edges),
        "nearest_nic": plain(graph.nearest),
        "asymmetries": plain(graph.asymmetries),
        "links": _links(graph),
    }


def _links(graph: Graph) -> dict[str, int]:
    """Kind -> number of pairs of accelerators, strongest first."""
    devices = {node.name for node in graph.of_kind("accelerator")}
    counts = Counter(edge.kind for edge in graph.edges if {edge.a, edge.b} <= devices)
    return {kind: counts[kind] for kind in sorted(counts, key=lambda kind: (strength(kind), kind))}
