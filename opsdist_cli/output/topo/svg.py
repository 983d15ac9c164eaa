"""The topology as a drawing: one SVG file, without scripts, fonts or anything else from outside. Pure.

    links among accelerators        ===*====*====*====*===   one line a fabric, with a dot for each that it joins
    accelerators                      [0]  [1]  [2]  [3]
    nearest network cards              |    |    |    |
    network cards                     [a]  [b]  [c]  [d]
    NUMA nodes                       ( numa0 )  ( numa1 )

May import: from this package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import ranges
from opsdist_cli.output.topo import ink
from opsdist_cli.output.topo.canvas import Canvas, fitted, width
from opsdist_cli.output.topo.key import draw_key
from opsdist_cli.output.topo.lanes import FEW, LABEL_SIZE, Lane, over_accelerators, to_cards
from opsdist_cli.output.topo.machine import Machine, contents, deviations, machines, verdict
from opsdist_cli.output.topo.places import CELL, PADDING, Block, blocks
from suites.launch.lists.nodeset import fold

Record = Mapping[str, Any]

_MARGIN = 28.0
_BOX = 80.0
_BOX_HIGH = 46.0
_CARD_HIGH = 42.0
_LANE = 36.0
_LOW_LANE = 24.0
_NARROWEST = 940.0
_TITLE = 20
_LINE = 17.0
_ABOUT = 24.0
"""From the lowest box of a device to what is said of its NUMA node."""


def render(record: Record) -> str:
    canvas = Canvas()
    bottom, right = _MARGIN, _NARROWEST
    found = machines(record)
    for machine in found:
        low, wide = _machine(canvas, machine, bottom)
        bottom, right = low + 24, max(right, wide + _MARGIN)
    bottom = draw_key(canvas, _MARGIN, bottom, right, found)
    title = f"topology of {fold([host['name'] for host in record['hosts']]) or 'no host'}"
    canvas.words(_MARGIN, bottom, verdict(record), 12, text_anchor="start", fill=ink.FAINT)
    return canvas.document(max(right, canvas.right + _MARGIN), bottom + 16, title)


def _machine(canvas: Canvas, machine: Machine, top: float) -> tuple[float, float]:
    """Draws it below `top`; gives its lowest and rightmost place."""
    top = _heading(canvas, machine, top)
    shown = blocks(machine, _MARGIN)
    accelerators = {name: block.middle(column) for block in shown for name, column in block.accelerators.items()}
    cards = {name: block.middle(column) for block in shown for name, column in block.cards.items()}
    upper, lower = over_accelerators(machine, accelerators), to_cards(machine, accelerators, cards)
    boxes = top + 8 + _LANE * (max((lane.level for lane in upper), default=-1) + 1) + 2 * PADDING
    under = boxes + _BOX_HIGH if accelerators else boxes
    gap = 44 + _LOW_LANE * (max((lane.level for lane in lower), default=0)) if accelerators and cards else 0
    ends = under + gap + (_CARD_HIGH if cards else 0)
    _accelerators(canvas, machine, accelerators, boxes)
    _cards(canvas, machine, cards, under + gap)
    right = max((block.left + block.width for block in shown), default=_MARGIN)
    for lane in upper:
        _upper(canvas, lane, boxes, boxes - 2 * PADDING - _LANE * (lane.level + 0.5), right)
    for lane in lower:
        _lower(canvas, lane, under, under + gap, under + 22 + _LOW_LANE * lane.level)
    about = _LINE * max((len(_about(block)) for block in shown), default=0) + 10
    for block in shown:
        _block(canvas, block, boxes - PADDING, ends, about)
    return ends + _ABOUT + about + 2 * PADDING, right


def _heading(canvas: Canvas, machine: Machine, top: float) -> float:
    """The name of the host, what it has, what is out of line. Gives where the drawing goes on."""
    title = f"Host {machine.names}" if machine.count == 1 else f"{machine.count} hosts, all alike: {machine.names}"
    canvas.words(_MARGIN, top + 18, title, _TITLE, text_anchor="start", font_weight="bold")
    canvas.words(_MARGIN, top + 40, contents(machine), 13, text_anchor="start")
    top += 50
    without = ", ".join(f"{kind} {count}" for kind, count in machine.without_fabric().items())
    if without and not machine.fabrics():
        said = f"accelerators reach each other over PCIe only; pairs: {without}"
        canvas.words(_MARGIN, top + 10, said, 13, text_anchor="start")
        top += 20
    for said in deviations(machine):
        canvas.words(_MARGIN, top + 10, f"! {said}", 13, text_anchor="start", fill=ink.ALARM, font_weight="bold")
        top += 20
    return top


def _accelerators(canvas: Canvas, machine: Machine, places: Mapping[str, float], top: float) -> None:
    odd = {one["device"] for one in machine.host["asymmetries"] if len(one["peers"]) > FEW}
    odd |= {one["device"] for one in machine.host["nearest_nic"] if one["far"]}
    for node in machine.accelerators:
        middle = places[node["name"]]
        style = ink.FALLEN if node["name"] in odd else ink.ACCELERATOR
        canvas.box("boxes", middle - _BOX / 2, top, _BOX, _BOX_HIGH, **style)
        name = node["name"] + " !" * (node["name"] in odd)
        _two_lines(canvas, middle, top + _BOX_HIGH / 2, name, _short(node["attributes"]["slot"]))


def _cards(canvas: Canvas, machine: Machine, places: Mapping[str, float], top: float) -> None:
    for node in machine.cards:
        middle = places[node["name"]]
        canvas.box("boxes", middle - _BOX / 2, top, _BOX, _CARD_HIGH, **ink.CARD)
        others = [name for name in node["attributes"]["interfaces"] if name != node["name"]]
        _two_lines(
            canvas, middle, top + _CARD_HIGH / 2, node["name"], fold(others) or _short(node["attributes"]["slot"])
        )


def _short(slot: str | None) -> str:
    return (slot or "").removeprefix("0000:")


def _two_lines(canvas: Canvas, middle: float, y: float, name: str, below: str) -> None:
    name, below = fitted(name, 13, _BOX - 6), fitted(below, 11, _BOX)
    canvas.words(middle, y + (-3 if below else 5), name, 13, font_weight="bold")
    if below:
        canvas.words(middle, y + 13, below, 11, fill=ink.FAINT)


def _upper(canvas: Canvas, lane: Lane, boxes: float, y: float, right: float) -> None:
    style = ink.WEAK if lane.color is None else {"stroke": _color(lane.color), "stroke_width": 6}
    stub = ink.WEAK if lane.color is None else {"stroke": _color(lane.color), "stroke_width": 3}
    low, high = lane.span
    canvas.line("lanes", low, y, high, y, **style)
    for x in lane.below:
        canvas.line("stubs", x, y + 5, x, boxes, **ink.GROUND)
        canvas.line("stubs", x, y, x, boxes, **stub)
        canvas.dot(x, y, 5, fill="#ffffff" if lane.color is None else _color(lane.color), stroke=style["stroke"])
    half = width(lane.label, LABEL_SIZE) / 2
    middle = min(max((low + high) / 2, _MARGIN + half), max(right, _NARROWEST - _MARGIN) - half)
    canvas.words(middle, y - 10, lane.label, LABEL_SIZE, fill=style["stroke"], font_weight="bold", **ink.HALO)


def _color(number: int) -> str:
    return ink.FABRICS[number % len(ink.FABRICS)]


def _lower(canvas: Canvas, lane: Lane, top: float, bottom: float, y: float) -> None:
    style = ink.WEAK if lane.color is None else ink.NEAREST
    fill = ink.ALARM if lane.color is None else ink.NEAR
    low, high = lane.span
    for x in lane.above:
        canvas.line("stubs", x, top, x, y, **style)
    for x in lane.below:
        canvas.line("stubs", x, y, x, bottom, **style)
    if low < high:
        canvas.line("lanes", low, y, high, y, **style)
        for x in (*lane.above, *lane.below):
            canvas.dot(x, y, 3.5, fill=fill)
    canvas.tag((low + high) / 2, y, lane.label, 11, fill=fill)


def _block(canvas: Canvas, block: Block, top: float, ends: float, high: float) -> None:
    """The frame of a NUMA node, those of its switches, and what there is to say of it."""
    canvas.box("frames", block.left, top, block.width, ends + _ABOUT + high + 8 - top, **ink.BLOCK)
    for name, first, last in block.frames:
        left = block.middle(first) - CELL / 2 + 3
        canvas.box("frames", left, top + 6, (last - first + 1) * CELL - 6, ends + 12 - top, **ink.SWITCH)
        canvas.words((block.middle(first) + block.middle(last)) / 2, ends + 14, name, 10, fill=ink.FAINT)
    left, wide = block.left + PADDING, block.width - 2 * PADDING
    canvas.box("boxes", left, ends + _ABOUT, wide, high, **ink.CPU)
    for number, line in enumerate(_about(block)):
        y = ends + _ABOUT + _LINE * (number + 1)
        canvas.words(left + wide / 2, y, fitted(line, 12, wide), 12, font_weight="normal" if number else "bold")


def _about(block: Block) -> Sequence[str]:
    if block.cpu is None:
        return ["place not known", *_others(block)]
    known = block.cpu["attributes"]
    socket = "" if known["socket"] is None else f" in socket {known['socket']}"
    name = f"{block.cpu['name']}{socket}"
    cpus = [f"CPUs {ranges(known['cpus'])}"] if known["cpus"] and block.cpu["numa"] is not None else []
    return [name, *cpus, *_others(block)]


def _others(block: Block) -> list[str]:
    return [f"no RDMA: {fold(block.others)}"] if block.others else []
