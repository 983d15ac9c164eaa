"""Where the boxes of a machine stand in its drawing: a block a NUMA node, in it accelerators above network cards.

Pure: a machine in, places out. May import: from this package and probes.topology.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opsdist_cli.output.topo.machine import Machine
from probes.topology.graph import is_near

CELL = 96.0
"""From the middle of one box to that of its neighbour."""
PADDING = 14.0
BETWEEN = 22.0
"""Between two blocks."""
_NARROWEST = 190.0

Record = Mapping[str, Any]


@dataclass(slots=True)
class Block:
    """A NUMA node (None: devices whose place is not known). Columns count from the left; a card stands below the
    accelerator that it is nearest to, where it can. `frames`: switches with the columns they join, (name, first, last).
    `others`: cards that are not drawn."""

    cpu: Record | None
    left: float
    accelerators: dict[str, int] = field(default_factory=dict)
    cards: dict[str, int] = field(default_factory=dict)
    frames: list[tuple[str, int, int]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    @property
    def columns(self) -> int:
        return max([*self.accelerators.values(), *self.cards.values()], default=-1) + 1

    @property
    def width(self) -> float:
        return max(self.columns * CELL + 2 * PADDING, _NARROWEST)

    def middle(self, column: float) -> float:
        margin = (self.width - self.columns * CELL) / 2
        return self.left + margin + (column + 0.5) * CELL


def blocks(machine: Machine, left: float) -> list[Block]:
    """From left to right."""
    cpus: list[Record | None] = list(machine.of_kind("cpu"))
    lost = any(machine.cpu_of(node) is None for node in machine.of_kind("accelerator", "rdma", "nic"))
    found = []
    for cpu in [*cpus, *([None] if lost else [])]:
        block = _block(machine, cpu, left)
        found.append(block)
        left += block.width + BETWEEN
    return found


def _block(machine: Machine, cpu: Record | None, left: float) -> Block:
    name = None if cpu is None else cpu["name"]
    here = [node for node in machine.of_kind("accelerator", "rdma", "nic") if machine.cpu_of(node) == name]
    drawn = {card["name"] for card in machine.cards}
    block = Block(cpu, left, others=[node["name"] for node in here if node in machine.other_cards])
    accelerators = _beside_siblings([node for node in here if node["kind"] == "accelerator"])
    block.accelerators = {name: column for column, name in enumerate(accelerators)}
    block.cards = _columns_of_cards(machine, block, _beside_siblings([node for node in here if node["name"] in drawn]))
    block.frames = list(_frames(machine, block))
    return block


def _beside_siblings(nodes: Sequence[Record]) -> list[str]:
    """Those at one switch beside each other, else in their order."""
    first: dict[str, int] = {}
    for place, node in enumerate(nodes):
        first.setdefault(node["parent"], place)
    order = {node["name"]: (first[node["parent"]], place) for place, node in enumerate(nodes)}
    return sorted(order, key=order.__getitem__)


def _columns_of_cards(machine: Machine, block: Block, cards: Sequence[str]) -> dict[str, int]:
    placed: dict[str, int] = {}
    for accelerator, column in block.accelerators.items():
        near = machine.nearest(accelerator)
        for card in near["nics"] if near and is_near(near["kind"]) else ():
            if card in cards and card not in placed:
                placed[card] = column
                break
    free = iter(column for column in range(len(cards) + len(block.accelerators)) if column not in placed.values())
    for card in cards:
        if card not in placed:
            placed[card] = next(free)
    return placed


def _frames(machine: Machine, block: Block) -> Iterator[tuple[str, int, int]]:
    """Of switches whose devices stand beside each other, with no other one among them."""
    columns = [*block.accelerators.items(), *block.cards.items()]
    for switch in machine.of_kind("switch"):
        inside = {node["name"] for node in machine.children(switch["name"])}
        mine = [column for name, column in columns if name in inside]
        if mine and not any(min(mine) <= column <= max(mine) for name, column in columns if name not in inside):
            yield switch["name"], min(mine), max(mine)


def packed(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The lane of each span, such that those of one lane do not touch: the lowest that is free."""
    ends: list[list[tuple[float, float]]] = []
    lanes = []
    for low, high in spans:
        free = (number for number, lane in enumerate(ends) if all(high < start or end < low for start, end in lane))
        lane = next(free, len(ends))
        if lane == len(ends):
            ends.append([])
        ends[lane].append((low, high))
        lanes.append(lane)
    return lanes
