"""Rules about NUMA nodes. May import: rule, alike, equipment, sizes, report."""

from __future__ import annotations

from collections.abc import Iterator

from suites.checks.alike import Trait, alike
from suites.checks.equipment import graver, virtual
from suites.checks.rule import Case, Facts, Judged, Rule, Scope, Threshold, broken, ok
from suites.checks.sizes import binary
from suites.report import Status

_NODES = "/sys/devices/system/node"


def _balancing(case: Case) -> Iterator[Judged]:
    """With one node there is nothing to balance."""
    facts = case.facts["numa"]
    if facts["balancing"] is None or facts["nodes"] is None:
        return
    if not facts["balancing"] or len(facts["nodes"]) < 2:
        yield ok()
        return
    evidence = {"file": "/proc/sys/kernel/numa_balancing", "value": 1, "threshold": 0}
    message = "the kernel moves pages between NUMA nodes by itself, which stops ranks for moments"
    yield broken(message, evidence, status=graver(case.facts))


def _memory(case: Case) -> Iterator[Judged]:
    """Of nodes that have CPUs: others are devices' memory. A hypervisor deals memory out as it likes."""
    nodes = [node for node in case.facts["numa"]["nodes"] or () if node["cpus"] and node["memory_bytes"] is not None]
    if len(nodes) < 2:
        return
    most, share = max(node["memory_bytes"] for node in nodes), case.limits["share"]
    status = Status.INFO if virtual(case.facts) else None
    for node in nodes:
        size, name = node["memory_bytes"], f"numa{node['id']}"
        if size >= share * most:
            yield ok(name)
            continue
        evidence = {"file": f"{_NODES}/node{node['id']}/meminfo", "value": size, "threshold": most}
        message = f"node {node['id']} has {binary(size)} of memory, another one {binary(most)}"
        yield broken(message, evidence, name, status=status)


def _count(facts: Facts) -> int | None:
    nodes = facts["numa"]["nodes"]
    return len(nodes) if nodes else None


def _dealt(facts: Facts) -> str | None:
    """How CPUs are dealt out: a list of some hundred numbers would tell nobody anything."""
    known = [node["cpus"] for node in facts["numa"]["nodes"] or () if node["cpus"]]
    if not known:
        return None
    rows = all(cpus == list(range(cpus[0], cpus[0] + len(cpus))) for cpus in known)
    return "in blocks" if rows else "in turn, or in several blocks"


RULES = (
    Rule(
        name="numa.balancing",
        summary="the kernel does not move pages between NUMA nodes by itself",
        why="To find out who uses a page the kernel takes it away for a moment, which every rank feels as jitter; "
        "NCCL's users have gained half of their bandwidth by switching it off.",
        remedy="sysctl -w kernel.numa_balancing=0, and the same in /etc/sysctl.d for good",
        status=Status.WARN,
        needs=("numa",),
        judge=_balancing,
    ),
    Rule(
        name="numa.memory_uneven",
        summary="all NUMA nodes have the same amount of memory",
        why="A node with less than the others has lost a module, or was filled unevenly: its channels are slower, and "
        "ranks bound to it run out of memory first.",
        remedy="see `dmidecode -t memory` for the slot that is empty or disabled, and the firmware's log for why",
        status=Status.WARN,
        needs=("numa",),
        judge=_memory,
        thresholds={"share": Threshold(0.9, "of the largest", "the kernel keeps a few per cent, a module is more")},
    ),
    Rule(
        name="numa.differs",
        summary="hosts have the same NUMA nodes",
        why="One binding for all hosts fits only where nodes and CPUs are numbered alike; the firmware's settings "
        "(NPS, SNC, one die a node) change both.",
        remedy="set NPS or SNC in the firmware as on the other hosts",
        status=Status.WARN,
        needs=("numa",),
        judge=alike(
            Trait("the number of NUMA nodes", _count, _NODES),
            Trait("the way CPUs are dealt out to NUMA nodes", _dealt, _NODES),
        ),
        scope=Scope.FLEET,
    ),
)
