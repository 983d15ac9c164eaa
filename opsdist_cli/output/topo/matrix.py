"""The topology as a matrix, in the manner of `nvidia-smi topo -m`. Pure: a record in, text out.

May import: from this package and probes.topology.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import clean, ranges, wrapped
from opsdist_cli.output.topo.machine import Machine, contents, deviations, machines, verdict
from probes.topology.graph import meaning, strength
from suites.launch.lists.nodeset import fold

WIDEST = 160
"""Beyond this the matrix goes on below itself. Eight accelerators and eight network cards fit."""

Record = Mapping[str, Any]
_UNKNOWN = "?"

Column = tuple[str, list[str]]
"""Heading and cells."""


def render(record: Record) -> str:
    lines, found = list[str](), machines(record)
    for machine in found:
        lines += [f"# {clean(machine.names)}: {contents(machine)}", "", *_matrix(machine), *_remarks(machine), ""]
    return "\n".join([*lines, *_legend(found), verdict(record)])


def _links(machine: Machine) -> list[Column]:
    nodes, edges = [*machine.accelerators, *machine.cards], machine.edges()
    return [(column["name"], [_cell(row["name"], column["name"], edges) for row in nodes]) for column in nodes]


def _matrix(machine: Machine) -> list[str]:
    nodes = [*machine.accelerators, *machine.cards]
    if not nodes:
        return ["  neither accelerators nor network cards are known"]
    columns = [
        *_links(machine),
        ("CPU Affinity", [_affinity(machine, row) for row in nodes]),
        ("NUMA", ["" if row["numa"] is None else str(row["numa"]) for row in nodes]),
        ("Nearest NIC", [_nearest(machine, row) for row in nodes]),
    ]
    told = [column for column in columns if any(column[1])]
    return _laid_out([row["name"] for row in nodes], told)


def _cell(row: str, column: str, edges: Mapping[tuple[str, str], Record]) -> str:
    if row == column:
        return "X"
    edge = edges.get((row, column))
    if edge is None:
        return _UNKNOWN
    return f"{edge['kind']}{'!' * edge['weak']}"


def _affinity(machine: Machine, node: Record) -> str:
    """As the tool said it, else the CPUs of the NUMA node."""
    if node["kind"] != "accelerator":
        return ""
    if node["attributes"]["affinity"]:
        return str(node["attributes"]["affinity"])
    cpus = next(
        (cpu["attributes"]["cpus"] for cpu in machine.of_kind("cpu") if cpu["name"] == machine.cpu_of(node)), None
    )
    return ranges(cpus) if cpus else ""


def _nearest(machine: Machine, node: Record) -> str:
    found = machine.nearest(node["name"])
    return f"{fold(found['nics'])} {found['kind']}{'!' * found['far']}" if found else ""


def _laid_out(rows: Sequence[str], columns: Sequence[Column]) -> list[str]:
    """In blocks of as many columns as have room, each with the names of the rows."""
    heads = [clean(row) for row in ("", *rows)]
    margin = max(map(len, heads)) + 2
    lines: list[str] = []
    block, width = [head.ljust(margin) for head in heads], margin
    for heading, cells in columns:
        texts = [clean(text) for text in (heading, *cells)]
        wide = max(map(len, texts)) + 2
        if width + wide > WIDEST and width > margin:
            lines += [*(line.rstrip() for line in block), ""]
            block, width = [head.ljust(margin) for head in heads], margin
        block = [line + text.ljust(wide) for line, text in zip(block, texts, strict=True)]
        width += wide
    return lines + [line.rstrip() for line in block]


def _remarks(machine: Machine) -> list[str]:
    lines = [line for said in deviations(machine) for line in wrapped(said, "  ! ", "    ")]
    if others := [node["name"] for node in machine.other_cards]:
        lines += wrapped(f"not in the matrix, since they do no RDMA: {fold(others)}", "  ", "    ")
    return ["", *lines] if lines else []


def _legend(found: Sequence[Machine]) -> list[str]:
    """Only the words that were used."""
    edges = [edge for machine in found for edge in machine.host["edges"]]
    kinds = sorted({edge["kind"] for edge in edges}, key=lambda kind: (strength(kind), kind))
    rows = [("X", "itself"), *((kind, meaning(kind)) for kind in kinds)]
    if any(_UNKNOWN in cells for machine in found for _, cells in _links(machine)):
        rows.append((_UNKNOWN, "not known"))
    if any(edge["weak"] for edge in edges) or any(
        one["far"] for machine in found for one in machine.host["nearest_nic"]
    ):
        rows.append(("!", "weaker than usual among its like, see above"))
    if not kinds:
        return []
    wide = max(len(clean(name)) for name, _ in rows)
    return ["Legend:", "", *(f"  {clean(name):<{wide}} = {text}" for name, text in rows), ""]
