"""A host of the record of `opsdist topo`, as the formats look at it. Pure. May import: suites and probes.topology."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from probes.topology.graph import is_fabric, strength
from suites.launch.lists.nodeset import fold

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fabric:
    """Accelerators that links of one kind join, but for those that break the symmetry."""

    kind: str
    members: tuple[str, ...]
    links: int

    @property
    def words(self) -> str:
        pairs = len(self.members) * (len(self.members) - 1) // 2
        if pairs == 1:
            return self.kind
        return (
            f"{self.kind}: all {pairs} pairs" if self.links == pairs else f"{self.kind}: {self.links} of {pairs} pairs"
        )


@dataclass(frozen=True, slots=True)
class Machine:
    """Hosts whose graphs are equal but for PCI addresses, as one. `names`: theirs, folded."""

    names: str
    count: int
    host: Record

    @property
    def accelerators(self) -> list[Record]:
        return self.of_kind("accelerator")

    @property
    def cards(self) -> list[Record]:
        """The network cards that data of accelerators go through: those that can do RDMA, or all where none can."""
        return self.of_kind("rdma") or self.of_kind("nic")

    @property
    def other_cards(self) -> list[Record]:
        return self.of_kind("nic") if self.of_kind("rdma") else []

    def of_kind(self, *kinds: str) -> list[Record]:
        return [node for node in self.host["nodes"] if node["kind"] in kinds]

    def children(self, parent: str | None) -> list[Record]:
        return [node for node in self.host["nodes"] if node["parent"] == parent]

    def cpu_of(self, node: Record) -> str | None:
        """The name of the NUMA node that a device hangs at, through whatever switches."""
        parents = {other["name"]: other["parent"] for other in self.host["nodes"]}
        name, parent = node["name"], node["parent"]
        while parent is not None:
            name, parent = parent, parents.get(parent)
        return None if name == node["name"] else name

    def nearest(self, device: str) -> Record | None:
        return next((one for one in self.host["nearest_nic"] if one["device"] == device), None)

    def edges(self) -> dict[tuple[str, str], Record]:
        """Of each pair, in both orders."""
        return {pair: edge for edge in self.host["edges"] for pair in ((edge["a"], edge["b"]), (edge["b"], edge["a"]))}

    def fabrics(self) -> list[Fabric]:
        """Strongest first."""
        names = [node["name"] for node in self.accelerators]
        sound = {pair: edge["kind"] for pair, edge in self.edges().items() if not edge["weak"]}
        linked = {kind for pair in combinations(names, 2) if is_fabric(kind := sound.get(pair, ""))}
        return [fabric for kind in sorted(linked, key=strength) for fabric in _joined(kind, names, sound)]

    def without_fabric(self) -> dict[str, int]:
        """Kind -> number of sound pairs of accelerators that have no link but PCIe."""
        found: dict[str, int] = {}
        edges = self.edges()
        for pair in combinations([node["name"] for node in self.accelerators], 2):
            if pair in edges and not is_fabric(edges[pair]["kind"]) and not edges[pair]["weak"]:
                found[edges[pair]["kind"]] = found.get(edges[pair]["kind"], 0) + 1
        return {kind: found[kind] for kind in sorted(found, key=strength)}


def _joined(kind: str, names: Sequence[str], sound: Mapping[tuple[str, str], str]) -> Iterator[Fabric]:
    left = list(names)
    while left:
        members, reached = [left[0]], [left[0]]
        while reached:
            one = reached.pop()
            new = [other for other in left if other not in members and sound.get((one, other)) == kind]
            members += new
            reached += new
        left = [name for name in left if name not in members]
        if len(members) > 1:
            ordered = tuple(name for name in names if name in members)
            links = sum(sound.get(pair) == kind for pair in combinations(ordered, 2))
            yield Fabric(kind, ordered, links)


def machines(record: Record) -> list[Machine]:
    """The hosts of the record, in its order, those that are alike folded."""
    alike: dict[str, list[Record]] = {}
    for host in record["hosts"]:
        alike.setdefault(_likeness(host), []).append(host)
    return [Machine(fold([host["name"] for host in hosts]), len(hosts), hosts[0]) for hosts in alike.values()]


def _likeness(host: Record) -> str:
    """All but the name and PCI addresses."""
    nodes = [
        {**node, "attributes": {key: value for key, value in node["attributes"].items() if key != "slot"}}
        for node in host["nodes"]
    ]
    return json.dumps([nodes, host["edges"]], sort_keys=True)


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def contents(machine: Machine) -> str:
    """What there is, in a line."""
    models = sorted({node["attributes"]["model"] or "" for node in machine.accelerators} - {""})
    of = f" ({', '.join(models)})" if models else ""
    cards = machine.of_kind("rdma", "nic")
    numa = [cpu for cpu in machine.of_kind("cpu") if cpu["numa"] is not None]
    found = [plural(len(machine.accelerators), "accelerator") + of, plural(len(cards), "network card")]
    return ", ".join([*found, *([plural(len(numa), "NUMA node")] if numa else [])])


def deviations(machine: Machine) -> list[str]:
    """What is out of line, a sentence each."""
    lines = [
        f"{one['device']}: {'/'.join(one['kinds'])} to {fold(one['peers'])} where {one['usual']} is usual"
        for one in machine.host["asymmetries"]
    ]
    lines += [
        f"{edge['a']} and {edge['b']}: {edge['kind']} in one direction, {edge['other']} in the other"
        for edge in machine.host["edges"]
        if edge["other"] is not None
    ]
    lines += [
        f"{one['device']}: the nearest network card is {one['kind']} away, beyond its NUMA node, unlike most others"
        for one in machine.host["nearest_nic"]
        if one["far"]
    ]
    return lines


def verdict(record: Record) -> str:
    """One line for all hosts."""
    found = machines(record)
    if record["exit_code"]:
        return "topo: nothing is known of any host's topology"
    odd = sum(len(deviations(machine)) * machine.count for machine in found)
    out = f"{odd} out of line" if odd else "nothing out of line"
    if len(found) == 1:
        return f"topo: {contents(found[0])}{' each' * (found[0].count > 1)}; {out}"
    return f"topo: {plural(len(record['hosts']), 'host')} with {len(found)} different topologies; {out}"
