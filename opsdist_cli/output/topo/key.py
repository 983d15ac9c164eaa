"""What the marks and words of the drawing mean, below it. May import: from this package and probes.topology."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opsdist_cli.output.topo import ink
from opsdist_cli.output.topo.canvas import Canvas
from opsdist_cli.output.topo.machine import Machine, deviations
from probes.topology.graph import meaning, strength

_ROW = 24.0
_SAMPLE = 44.0
_WORDS_FROM = 430.0


def draw_key(canvas: Canvas, left: float, top: float, right: float, machines: Sequence[Machine]) -> float:
    """Two columns: the marks and the words for links that were used. Gives where the page goes on."""
    canvas.line("frames", left, top, right - left, top, stroke="#999999")
    marks = [(draw, text) for used, draw, text in _MARKS if any(used(machine) for machine in machines)]
    for number, (draw, text) in enumerate(marks):
        y = top + 24 + _ROW * number
        draw(canvas, left, y)
        canvas.words(left + _SAMPLE + 12, y + 4, text, 12, text_anchor="start")
    kinds = {edge["kind"] for machine in machines for edge in machine.host["edges"]}
    for number, kind in enumerate(sorted(kinds, key=lambda kind: (strength(kind), kind))):
        y = top + 28 + _ROW * number
        canvas.words(left + _WORDS_FROM, y, kind, 12, text_anchor="start", font_weight="bold")
        canvas.words(left + _WORDS_FROM + 72, y, meaning(kind), 12, text_anchor="start")
    return top + 36 + _ROW * max(len(marks), len(kinds))


def _accelerator(canvas: Canvas, x: float, y: float) -> None:
    canvas.box("boxes", x, y - 8, _SAMPLE, 16, **ink.ACCELERATOR)


def _card(canvas: Canvas, x: float, y: float) -> None:
    canvas.box("boxes", x, y - 8, _SAMPLE, 16, **ink.CARD)


def _switch(canvas: Canvas, x: float, y: float) -> None:
    canvas.box("frames", x, y - 8, _SAMPLE, 16, **ink.SWITCH)


def _fabric(canvas: Canvas, x: float, y: float) -> None:
    canvas.line("lanes", x, y, x + _SAMPLE, y, stroke=ink.FABRICS[0], stroke_width=6)
    for place in (x + 6, x + _SAMPLE / 2, x + _SAMPLE - 6):
        canvas.dot(place, y, 5, fill=ink.FABRICS[0])


def _nearest(canvas: Canvas, x: float, y: float) -> None:
    canvas.line("lanes", x, y, x + _SAMPLE, y, **ink.NEAREST)


def _weak(canvas: Canvas, x: float, y: float) -> None:
    canvas.line("lanes", x, y, x + _SAMPLE, y, **ink.WEAK)


_MARKS: tuple[tuple[Callable[[Machine], object], Callable[[Canvas, float, float], None], str], ...] = (
    (lambda machine: machine.accelerators, _accelerator, "accelerator, with its PCI address"),
    (lambda machine: machine.cards, _card, "network card, with its interface or address"),
    (lambda machine: machine.of_kind("switch"), _switch, "what hangs at one PCIe switch"),
    (lambda machine: machine.fabrics(), _fabric, "links among all accelerators that have a dot on it"),
    (lambda machine: machine.host["nearest_nic"], _nearest, "from an accelerator to its nearest network card"),
    (deviations, _weak, "! weaker than usual among its like"),
)
"""(which machines have it, sample, what it is)."""
