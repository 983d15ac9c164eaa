"""Shapes and words of an SVG, in layers. Knows nothing of what they mean. Pure. May import: layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from opsdist_cli.output.layout import clean

_FONT = "system-ui, 'DejaVu Sans', Arial, sans-serif"
_LETTER = 0.6
"""Width of a letter, as a part of its size: an upper bound for usual text in most fonts."""

LAYERS = ("frames", "lanes", "stubs", "boxes", "dots", "words")
"""From back to front."""


def width(text: str, size: float) -> float:
    return len(text) * size * _LETTER


def fitted(text: str, size: float, room: float) -> str:
    """The text, cut off where it has no room."""
    most = max(int(room / (size * _LETTER)), 1)
    return text if len(text) <= most else text[: most - 1] + "\u2026"


@dataclass(slots=True)
class Canvas:
    """`right`: how far the words reach."""

    marks: Mapping[str, list[str]] = field(default_factory=lambda: {layer: [] for layer in LAYERS})
    right: float = 0.0

    def box(self, layer: str, left: float, top: float, wide: float, high: float, **style: object) -> None:
        self._add(layer, "rect", x=left, y=top, width=wide, height=high, **style)

    def line(self, layer: str, x1: float, y1: float, x2: float, y2: float, **style: object) -> None:
        self._add(layer, "line", x1=x1, y1=y1, x2=x2, y2=y2, **style)

    def dot(self, x: float, y: float, radius: float, **style: object) -> None:
        self._add("dots", "circle", cx=x, cy=y, r=radius, **style)

    def words(self, x: float, y: float, text: str, size: float = 12, **style: object) -> None:
        """`y` is the base line. By default in the middle around `x`."""
        given = {"text_anchor": "middle", "fill": "#1a1a1a", **style}
        room = width(text, size)
        self.right = max(self.right, x + (room / 2 if given["text_anchor"] == "middle" else room))
        self.marks["words"].append(f"<text {_attributes(x=x, y=y, font_size=size, **given)}>{_safe(text)}</text>")

    def tag(self, x: float, y: float, text: str, size: float = 12, **style: object) -> None:
        """Words on a white ground, in the middle around (x, y)."""
        wide = width(text, size) + 8
        self.box("dots", x - wide / 2, y - size * 0.75, wide, size * 1.5, rx=3, fill="#ffffff")
        self.words(x, y + size * 0.36, text, size, **style)

    def _add(self, layer: str, element: str, **style: object) -> None:
        self.marks[layer].append(f"<{element} {_attributes(**style)}/>")

    def document(self, wide: float, high: float, title: str) -> str:
        size = f'width="{_number(wide)}" height="{_number(high)}" viewBox="0 0 {_number(wide)} {_number(high)}"'
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_FONT}">',
            f"<title>{_safe(title)}</title>",
            f'<rect width="{_number(wide)}" height="{_number(high)}" fill="#ffffff"/>',
            *(mark for layer in LAYERS for mark in self.marks[layer]),
            "</svg>",
        ])  # fmt: skip


def _attributes(**style: object) -> str:
    return " ".join(
        f'{name.replace("_", "-")}="{_number(value) if isinstance(value, float | int) else _safe(str(value))}"'
        for name, value in style.items()
    )


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _safe(text: str) -> str:
    return escape(clean(text), quote=True)
