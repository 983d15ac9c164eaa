"""The topology as a tree: host, sockets, NUMA nodes, PCIe switches, devices. Pure: a record in, text out.

May import: from this package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opsdist_cli.output.layout import clean, ranges, wrapped
from opsdist_cli.output.topo.machine import Machine, contents, deviations, machines, plural, verdict
from suites.launch.lists.nodeset import fold

Record = Mapping[str, Any]


@dataclass(slots=True)
class Branch:
    words: str
    below: list[Branch] = field(default_factory=list)


def render(record: Record) -> str:
    lines = []
    for machine in machines(record):
        lines += [f"{clean(machine.names)}: {contents(machine)}", *_drawn(_roots(machine), "")]
        lines += [line for said in _links(machine) for line in wrapped(said, "  ", "    ")]
        lines += [line for said in deviations(machine) for line in wrapped(said, "  ! ", "    ")]
        lines.append("")
    return "\n".join([*lines, verdict(record)])


def _roots(machine: Machine) -> list[Branch]:
    """Sockets where they are known, else NUMA nodes; then what has no known place."""
    sockets: dict[int | None, list[Branch]] = {}
    for cpu in machine.of_kind("cpu"):
        sockets.setdefault(cpu["attributes"]["socket"], []).append(_branch(machine, cpu))
    roots = []
    for socket, branches in sockets.items():
        roots += branches if socket is None else [Branch(f"socket {socket}", branches)]
    lost = [_branch(machine, node) for node in machine.children(None) if node["kind"] != "cpu"]
    return [*roots, Branch("place not known", lost)] if lost else roots


def _branch(machine: Machine, node: Record) -> Branch:
    return Branch(_words(machine, node), [_branch(machine, child) for child in machine.children(node["name"])])


def _words(machine: Machine, node: Record) -> str:
    known = node["attributes"]
    told: list[str | None]
    match node["kind"]:
        case "cpu":
            told = [f"CPUs {ranges(known['cpus'])}"] if known["cpus"] and node["numa"] is not None else []
        case "switch":
            told = [f"PCIe switch {known['slot']}"]
        case "accelerator":
            nearest = machine.nearest(node["name"])
            near = f"nearest NIC {fold(nearest['nics'])} ({nearest['kind']})" if nearest else None
            told = [known["model"], known["slot"], near]
        case _:
            names = [name for name in known["interfaces"] if name != node["name"]]
            told = ["RDMA" if node["kind"] == "rdma" else None, fold(names) if names else None, known["slot"]]
    return "  ".join([node["name"], *(text for text in told if text)])


def _drawn(branches: Sequence[Branch], margin: str) -> list[str]:
    lines = []
    for number, branch in enumerate(branches, 1):
        last = number == len(branches)
        lines.append(f"{margin}{'`' if last else '|'}- {clean(branch.words)}")
        lines += _drawn(branch.below, margin + ("   " if last else "|  "))
    return lines


def _links(machine: Machine) -> list[str]:
    said = [f"{fabric.words} of {fold(fabric.members)}" for fabric in machine.fabrics()]
    over = [f"{kind} {count}" for kind, count in machine.without_fabric().items()]
    total = plural(sum(machine.without_fabric().values()), "pair")
    return [*said, *([f"over PCIe only, {total} of accelerators: {', '.join(over)}"] if over else [])]
