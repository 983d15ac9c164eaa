"""NUMA nodes: which CPUs and how much memory each has, and how far they are from each other.

Source: /sys/devices/system/node; where a recording has none of it, `numactl -H` or `lscpu`. May import: probes.
"""

from __future__ import annotations

from dataclasses import dataclass

from probes import lscpu, numactl
from probes.host import Host
from probes.kernel_text import count, cpu_list, fields, kibibytes

_NODES = "/sys/devices/system/node"


@dataclass(frozen=True, slots=True)
class NumaNode:
    """`distances` has one entry a node, in the order of the nodes; 10 is local."""

    id: int
    cpus: tuple[int, ...] | None
    memory_bytes: int | None
    memory_free_bytes: int | None
    distances: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class NumaFacts:
    """`balancing`: the kernel moves pages between nodes by itself, which shows as jitter."""

    nodes: tuple[NumaNode, ...] | None
    balancing: bool | None


def read(host: Host) -> NumaFacts:
    balancing = count(host.read("/proc/sys/kernel/numa_balancing"))
    names = host.listdir(_NODES)
    ids = sorted(found for name in names or () if (found := node_id(name)) is not None)
    return NumaFacts(
        nodes=_of_commands(host) if names is None else tuple(_node(host, found) for found in ids),
        balancing=None if balancing is None else balancing > 0,
    )


def node_id(name: str) -> int | None:
    return count(name.removeprefix("node")) if name.startswith("node") else None


def _node(host: Host, node: int) -> NumaNode:
    folder = f"{_NODES}/node{node}"
    total, free = parse_memory(host.read(f"{folder}/meminfo"))
    return NumaNode(
        id=node,
        cpus=cpu_list(host.read(f"{folder}/cpulist")),
        memory_bytes=total,
        memory_free_bytes=free,
        distances=parse_distances(host.read(f"{folder}/distance")),
    )


def _of_commands(host: Host) -> tuple[NumaNode, ...] | None:
    if told := numactl.recorded(host):
        return tuple(
            NumaNode(number, node.cpus, node.memory_bytes, node.memory_free_bytes, node.distances)
            for number, node in told.items()
        )
    said = lscpu.recorded(host)
    nodes = said.nodes if said else {}
    return tuple(NumaNode(node, nodes[node], None, None, None) for node in sorted(nodes)) or None


def parse_memory(text: str | None) -> tuple[int | None, int | None]:
    """(total, free) in bytes from lines such as `Node 0 MemTotal:  3893020 kB`."""
    rows = {key.split()[-1]: value for key, value in fields(text).items() if key}
    return kibibytes(rows.get("MemTotal")), kibibytes(rows.get("MemFree"))


def parse_distances(text: str | None) -> tuple[int, ...] | None:
    distances = [count(part) for part in (text or "").split()]
    known = tuple(distance for distance in distances if distance is not None)
    return known if known and len(known) == len(distances) else None
