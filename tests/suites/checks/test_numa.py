"""Rules about NUMA nodes."""

from __future__ import annotations

from typing import Any

from suites.report import Status
from tests.suites.checks.plain_hosts import GPUS, found_on, host, silent
from tests.suites.checks.ruled import fleet, ruled, statuses

NODES = "/sys/devices/system/node"


def noded(
    *sizes: int, cpus: tuple[str, ...] = ("0-3", "4-7"), commands: dict[str, str] | None = None, balancing: str = "0",
    cpuinfo: str = "flags : fpu\n",
) -> dict[str, Any]:  # fmt: skip
    """Nodes with that many GiB of memory, and CPUs."""
    files = {"/proc/sys/kernel/numa_balancing": balancing, "/proc/cpuinfo": cpuinfo}
    for node, size in enumerate(sizes):
        files[f"{NODES}/node{node}/meminfo"] = f"Node {node} MemTotal: {size << 20} kB\n"
        files[f"{NODES}/node{node}/cpulist"] = cpus[node] + "\n"
    return host("cpu", "numa", "accelerators", commands=commands, files=files)


def test_balancing() -> None:
    assert statuses(found_on("numa.balancing", noded(64, 64, commands=GPUS, balancing="1"))) == [Status.WARN]
    assert statuses(found_on("numa.balancing", noded(64, 64, balancing="1"))) == [Status.INFO]
    assert silent("numa.balancing", noded(64, 64, commands=GPUS, balancing="0"))
    assert silent("numa.balancing", noded(64, commands=GPUS, balancing="1"))


def test_a_node_that_lost_a_module() -> None:
    (finding,) = found_on("numa.memory_uneven", noded(64, 57))
    assert (finding.status, finding.subject) == (Status.WARN, {"host": "h", "device": "numa1"})
    assert finding.message == "node 1 has 57 GiB of memory, another one 64 GiB"
    assert silent("numa.memory_uneven", noded(64, 60))


def test_a_node_without_cpus_is_a_devices_memory() -> None:
    assert silent("numa.memory_uneven", noded(64, 64, 16, cpus=("0-3", "4-7", "")))


def test_a_hypervisor_deals_memory_out_as_it_likes() -> None:
    facts = noded(64, 16, cpuinfo="flags : fpu hypervisor\n")
    assert statuses(found_on("numa.memory_uneven", facts)) == [Status.INFO]


def test_nodes_of_a_fleet() -> None:
    one, two = noded(64), noded(64, 64)
    (finding,) = fleet("numa.differs", a=two, b=two, c=one)
    assert finding.subject == {"host": "c"}
    assert finding.message == "the number of NUMA nodes is 1, and 2 on 2 of 3"
    dealt = noded(64, 64, cpus=("0,2", "1,3"))
    (finding,) = fleet("numa.differs", a=two, b=dealt, c=two)
    assert finding.subject == {"host": "b"}
    assert "is in turn, or in several blocks, and in blocks on 2 of 3" in finding.message
    assert ruled("numa.memory_uneven", host("numa")) == []


def test_balancing_of_unknown_nodes_says_nothing() -> None:
    assert ruled("numa.balancing", host("numa", files={"/proc/sys/kernel/numa_balancing": "1"})) == []
    assert ruled("numa.balancing", host("numa", files={f"{NODES}/node0/cpulist": "0"})) == []
