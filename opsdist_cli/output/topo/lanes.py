"""The lines of the drawing that join several boxes: each has a lane of its own, above or below the accelerators.

A fabric that links 8 accelerators would be 28 lines; drawn as one with a dot for each member it can be read.
Pure: a machine and the places of its boxes in, lanes out. May import: from this package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opsdist_cli.output.topo.canvas import width
from opsdist_cli.output.topo.machine import Fabric, Machine, Record
from opsdist_cli.output.topo.places import packed

LABEL_SIZE = 13
_APART = 14.0
"""Between two lines that leave the same box."""
FEW = 3
"""An accelerator with more weak links than this is marked itself, since the lines would hide what is sound."""

Places = Mapping[str, float]
"""Name -> middle of its box."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A horizontal line at a `level` (0 is next to the boxes), with a stub at each of `above` and `below`, from boxes
    that stand there. `color` counts the kinds of fabrics; None: weaker than usual."""

    level: int
    label: str
    above: tuple[float, ...]
    below: tuple[float, ...]
    color: int | None

    @property
    def span(self) -> tuple[float, float]:
        return min(self.above + self.below), max(self.above + self.below)


def over_accelerators(machine: Machine, places: Places) -> list[Lane]:
    """Fabrics, the small ones next to the boxes; above them what breaks their symmetry."""
    fabrics = sorted(machine.fabrics(), key=lambda fabric: len(fabric.members))
    kinds = list(dict.fromkeys(fabric.kind for fabric in fabrics))
    stubs = [_stubs(fabric, kinds, places) for fabric in fabrics]
    levels = packed([_room(xs, fabric.words) for xs, fabric in zip(stubs, fabrics, strict=True)])
    found = [
        Lane(level, fabric.words, (), xs, kinds.index(fabric.kind))
        for level, fabric, xs in zip(levels, fabrics, stubs, strict=True)
    ]
    weak = [_weak(one, places, _APART * (len(kinds) + 1) / 2) for one in machine.host["asymmetries"]]
    above = packed([_room(xs, label) for label, xs in weak])
    base = max(levels, default=-1) + 1
    return found + [Lane(base + level, label, (), xs, None) for level, (label, xs) in zip(above, weak, strict=True)]


def _stubs(fabric: Fabric, kinds: Sequence[str], places: Places) -> tuple[float, ...]:
    """Each kind leaves a box at a place of its own."""
    offset = (kinds.index(fabric.kind) - (len(kinds) - 1) / 2) * _APART
    return tuple(places[name] + offset for name in fabric.members)


def _weak(one: Record, places: Places, offset: float) -> tuple[str, tuple[float, ...]]:
    what, usual = "/".join(one["kinds"]), f"{one['usual']} is usual"
    if len(one["peers"]) > FEW:
        return f"{what} to {len(one['peers'])} others, {usual}", (places[one["device"]] + offset,)
    return f"{what}, {usual}", tuple(places[name] + offset for name in (one["device"], *one["peers"]))


def _room(xs: Sequence[float], label: str) -> tuple[float, float]:
    middle, half = (min(xs) + max(xs)) / 2, width(label, LABEL_SIZE) / 2 + 10
    return min(*xs, middle - half), max(*xs, middle + half)


def to_cards(machine: Machine, accelerators: Places, cards: Places) -> list[Lane]:
    """From accelerators to their nearest network cards: one lane for all that have the same ones."""
    groups: dict[tuple[tuple[str, ...], str, bool], list[str]] = {}
    for one in machine.host["nearest_nic"]:
        groups.setdefault((tuple(one["nics"]), one["kind"], one["far"]), []).append(one["device"])
    taken: dict[str, int] = {}
    found = []
    for (nics, kind, far), devices in groups.items():
        below = []
        for nic in nics:
            below.append(cards[nic] + _APART * taken.get(nic, 0))
            taken[nic] = taken.get(nic, 0) + 1
        found.append(Lane(0, kind, tuple(accelerators[name] for name in devices), tuple(below), None if far else 0))
    straight = [lane for lane in found if lane.span[0] == lane.span[1]]
    bent = [lane for lane in found if lane not in straight]
    levels = packed([_room(lane.span, lane.label) for lane in bent])
    return straight + [
        Lane(level, lane.label, lane.above, lane.below, lane.color) for level, lane in zip(levels, bent, strict=True)
    ]
