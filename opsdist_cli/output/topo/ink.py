"""Colours and strokes of the drawing. Each thing also differs by its shape, its stroke or a word. Constants only."""

from __future__ import annotations

from collections.abc import Mapping

DARK = "#1a1a1a"
FAINT = "#555555"
ALARM = "#b00020"
NEAR = "#8a5a00"
FABRICS = ("#1f4e9c", "#0b6e4f", "#6a3d9a", "#7a4b00")

Style = Mapping[str, object]

BLOCK: Style = {"fill": "#f7f7f7", "stroke": "#999999", "rx": 8}
SWITCH: Style = {"fill": "none", "stroke": FAINT, "stroke_dasharray": "3 3", "rx": 6}
CPU: Style = {"fill": "#e4e4e4", "stroke": FAINT, "rx": 3}
ACCELERATOR: Style = {"fill": "#e8f0fb", "stroke": FABRICS[0], "stroke_width": 1.5, "rx": 9}
FALLEN: Style = {"fill": "#fdecee", "stroke": ALARM, "stroke_width": 3, "stroke_dasharray": "7 4", "rx": 9}
CARD: Style = {"fill": "#fff4dc", "stroke": NEAR, "stroke_width": 1.5}
NEAREST: Style = {"stroke": NEAR, "stroke_width": 2}
WEAK: Style = {"stroke": ALARM, "stroke_width": 3, "stroke_dasharray": "7 4"}
HALO: Style = {"stroke": "#ffffff", "stroke_width": 4, "paint_order": "stroke"}
"""Around words that stand on a line."""
GROUND: Style = {"stroke": "#ffffff", "stroke_width": 8}
"""Below a line that passes over another one without touching it."""
