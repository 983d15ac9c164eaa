"""Records of `opsdist topo` about made-up machines."""

from __future__ import annotations

from typing import Any

from suites.hostinfo import Looked, Seen
from suites.report import now
from suites.topology import report
from tests.probes.topology.machines import Facts, islands, laptop, machine, mesh
from tests.schema import validate


def record_of(**hosts: Facts) -> dict[str, Any]:
    looked = Looked([Seen(name, facts) for name, facts in hosts.items()])
    record = report(["opsdist", "topo"], now(), looked).record()
    validate(record)
    return record


def healthy() -> Facts:
    """Eight NPUs in a full mesh, eight cards, two sockets."""
    return machine("ascend", range(8), mesh("HCCS"), model="910B3", cards=8)


def sick() -> Facts:
    """The same, of which one fell out of the mesh."""
    return machine("ascend", range(8), mesh("HCCS", _5="SYS"), model="910B3", cards=8)


def dies() -> Facts:
    """Sixteen dies on eight cards."""
    return machine("ascend", range(16), lambda a, b: "SIO" if a // 2 == b // 2 else "HCCS_SW", cards=8, numa=4)


def pairs() -> Facts:
    """Bridged pairs, cards of whose places nothing is known but the NUMA node, and one that does no RDMA."""
    facts = machine("nvidia", range(4), islands(2, "NV12", "SYS"), cards=2)
    for device in facts["pcie"]["devices"]:
        device["upstream"] = None
    facts["network"]["interfaces"].append({"name": "eno1", "numa_node": 1, "virtual": False})
    return facts


def plain() -> Facts:
    return laptop()


def hostile() -> Facts:
    """Names that mean something to XML, DOT or a terminal."""
    facts = machine("nvidia", range(2), mesh("NV2"), model='<script>"x"&\\', cards=1)
    facts["rdma"]["devices"][0]["name"] = '"];\\n<b>&\x1b[31m'
    facts["accelerators"]["nvidia"]["devices"][0]["readings"]["topology"]["values"]["cpus"] = "0-3<&\"'\x00"
    return facts


MACHINES = {
    "healthy": healthy, "sick": sick, "dies": dies, "pairs": pairs, "plain": plain, "hostile": hostile, "empty": dict,
}  # fmt: skip
