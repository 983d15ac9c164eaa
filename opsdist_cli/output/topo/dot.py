"""The topology for Graphviz: `opsdist topo --format dot | dot -Tsvg`. Pure: a record in, text out.

A fabric is a node of its own with an edge to each accelerator that it links, and so is what breaks its symmetry.
May import: from this package.
"""

from __future__ import annotations

from collections.abc import Iterator

from opsdist_cli.output.layout import clean, ranges
from opsdist_cli.output.topo.machine import Machine, Record, contents, machines

_SHAPES = {"accelerator": "box", "rdma": "component", "nic": "component", "switch": "diamond"}


def render(record: Record) -> str:
    lines = ["graph topology {", "  rankdir=TB; node [fontsize=11]; edge [fontsize=10];"]
    for number, machine in enumerate(machines(record)):
        lines += [
            f"  subgraph cluster_{number} {{",
            *(f"    {line}" for line in _machine(machine, f"{number}/")),
            "  }",
        ]
    return "\n".join([*lines, "}"])


def _machine(machine: Machine, prefix: str) -> Iterator[str]:
    yield f"label={quoted(f'{machine.names}: {contents(machine)}')};"
    for number, cpu in enumerate(machine.of_kind("cpu")):
        yield f"subgraph {quoted(f'cluster_{prefix}{number}')} {{"
        yield f"  label={quoted(_cpu(cpu))}; style=rounded;"
        yield from (f"  {line}" for line in _devices(machine, cpu["name"], prefix))
        yield "}"
    yield from _devices(machine, None, prefix)
    for switch in machine.of_kind("switch"):
        yield from (_edge(prefix, switch["name"], node["name"]) for node in machine.children(switch["name"]))
    for number, fabric in enumerate(machine.fabrics()):
        hub = f"fabric {number}"
        yield f"{quoted(prefix + hub)} [label={quoted(fabric.words)}, shape=ellipse, penwidth=2];"
        yield from (_edge(prefix, hub, name, penwidth="2") for name in fabric.members)
    yield from _marked(machine, prefix)


def _cpu(cpu: Record) -> str:
    known = cpu["attributes"]
    socket = "" if known["socket"] is None else f" in socket {known['socket']}"
    cpus = f", CPUs {ranges(known['cpus'])}" if known["cpus"] and cpu["numa"] is not None else ""
    return f"{cpu['name']}{socket}{cpus}"


def _devices(machine: Machine, cpu: str | None, prefix: str) -> Iterator[str]:
    for node in machine.of_kind(*_SHAPES):
        if machine.cpu_of(node) == cpu:
            yield f"{quoted(prefix + node['name'])} [label={quoted(_label(node))}, shape={_SHAPES[node['kind']]}];"


def _label(node: Record) -> str:
    return "\n".join(
        text for text in (node["name"], node["attributes"].get("model"), node["attributes"]["slot"]) if text
    )


def _marked(machine: Machine, prefix: str) -> Iterator[str]:
    """Nearest network cards, and what is weaker than usual."""
    for one in machine.host["nearest_nic"]:
        style = {"color": "red", "fontcolor": "red"} if one["far"] else {"style": "dashed"}
        yield from (_edge(prefix, one["device"], nic, label=one["kind"], **style) for nic in one["nics"])
    for number, asymmetry in enumerate(machine.host["asymmetries"]):
        hub = f"weak {number}"
        words = f"{asymmetry['device']}: {'/'.join(asymmetry['kinds'])}!\n{asymmetry['usual']} is usual"
        look = "shape=ellipse, color=red, fontcolor=red, style=dashed"
        yield f"{quoted(prefix + hub)} [label={quoted(words)}, {look}];"
        yield _edge(prefix, hub, asymmetry["device"], color="red", penwidth="2")
        yield from (_edge(prefix, hub, name, color="red", style="dashed") for name in asymmetry["peers"])


def _edge(prefix: str, one: str, other: str, **style: str) -> str:
    given = f" [{', '.join(f'{name}={quoted(value)}' for name, value in style.items())}]" if style else ""
    return f"{quoted(prefix + one)} -- {quoted(prefix + other)}{given};"


def quoted(text: str) -> str:
    """As a DOT string: line ends stay, whatever else is not printable is shown."""
    shown = "\n".join(clean(line) for line in text.split("\n"))
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
