"""`numactl --hardware`: NUMA nodes with their CPUs, memory and distances.

For recordings that hold nothing else of them. May import: probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from probes.host import Host
from probes.kernel_text import count
from probes.printed import printed

_NODE = re.compile(r"node ([0-9]{1,4}) (cpus|size|free):\s*(.*)")
_DISTANCES = re.compile(r"\s*([0-9]{1,4}):((?:\s+[0-9]{1,4})+)\s*")


@dataclass(frozen=True, slots=True)
class Node:
    """Memory in bytes. `distances` has one entry a node, in the order of the nodes."""

    cpus: tuple[int, ...] | None
    memory_bytes: int | None
    memory_free_bytes: int | None
    distances: tuple[int, ...] | None


def recorded(host: Host) -> Mapping[int, Node]:
    """By number; none where it was not recorded."""
    return parse(printed(host, ["numactl", "-H"], ["numactl", "--hardware"]) or "")


def parse(text: str) -> Mapping[int, Node]:
    told: dict[int, dict[str, str]] = {}
    distances: dict[int, tuple[int, ...]] = {}
    for line in text.splitlines():
        if match := _NODE.fullmatch(line.strip()):
            told.setdefault(int(match[1]), {})[match[2]] = match[3]
        elif match := _DISTANCES.fullmatch(line):
            distances[int(match[1])] = tuple(map(int, match[2].split()))
    return {number: _node(rows, distances.get(number)) for number, rows in sorted(told.items())}


def _node(rows: Mapping[str, str], distances: tuple[int, ...] | None) -> Node:
    cpus = [count(word) for word in rows.get("cpus", "").split()]
    known = tuple(cpu for cpu in cpus if cpu is not None)
    whole = "cpus" in rows and len(known) == len(cpus)
    return Node(known if whole else None, _bytes(rows.get("size")), _bytes(rows.get("free")), distances)


def _bytes(text: str | None) -> int | None:
    """`192088 MB`, by which numactl means 1024 x 1024 bytes."""
    megabytes = count((text or "").removesuffix("MB"))
    return None if megabytes is None else megabytes << 20
