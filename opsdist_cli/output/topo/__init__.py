"""The formats of `opsdist topo`: `draw(name, record) -> str`, one file each. All but json are for people.

DRAWINGS maps a format's name to its renderer, as "module:function", imported when used. May import: from this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

DRAWINGS: dict[str, str] = {
    "matrix": "opsdist_cli.output.topo.matrix:render",
    "text": "opsdist_cli.output.topo.text:render",
    "dot": "opsdist_cli.output.topo.dot:render",
    "svg": "opsdist_cli.output.topo.svg:render",
    "json": "opsdist_cli.output.json:render",
}

DOCUMENTS = frozenset({"dot", "svg", "json"})
"""Formats that other programs read, so that nothing else may stand beside them."""


def draw(name: str, record: Mapping[str, Any]) -> str:
    """The record of `opsdist topo` in the named format, with a line end after the last line."""
    module, function = DRAWINGS[name].split(":")
    text: str = getattr(import_module(module), function)(record)
    return text.rstrip("\n") + "\n"
