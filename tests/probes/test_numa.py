"""NUMA nodes."""

from __future__ import annotations

from probes import numa
from tests.tree_host import TreeHost

NODES = "/sys/devices/system/node"


def test_nodes_come_in_the_order_of_their_numbers(tree: TreeHost) -> None:
    tree.write({
        "/proc/sys/kernel/numa_balancing": "1",
        f"{NODES}/online": "0,2,10",
        f"{NODES}/node10/cpulist": "",
        f"{NODES}/node2/cpulist": "4-7",
        f"{NODES}/node0/cpulist": "0-3",
        f"{NODES}/node0/meminfo": "\nNode 0 MemTotal:        500 kB\nNode 0 MemFree:         200 kB",
        f"{NODES}/node0/distance": "10 21 31",
    })  # fmt: skip
    facts = numa.read(tree)
    assert facts.balancing is True
    assert facts.nodes == (
        numa.NumaNode(0, (0, 1, 2, 3), 500 * 1024, 200 * 1024, (10, 21, 31)),
        numa.NumaNode(2, (4, 5, 6, 7), None, None, None),
        numa.NumaNode(10, (), None, None, None),
    )


def test_unknown_without_files(tree: TreeHost) -> None:
    assert numa.read(tree) == numa.NumaFacts(None, None)


def test_balancing_off(tree: TreeHost) -> None:
    assert numa.read(tree.write({"/proc/sys/kernel/numa_balancing": "0"})).balancing is False


def test_distances_are_numbers_or_unknown() -> None:
    assert numa.parse_distances("10 20\n") == (10, 20)
    assert numa.parse_distances("10 far") is None
