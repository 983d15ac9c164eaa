"""What people see of a diagnosis: text, the wait-for graph, a timeline. All are functions of the record.

GRAPHS maps the ending of a file to what draws the wait-for graph for it, as "module:function", imported when used.
May import: the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

GRAPHS: dict[str, str] = {
    ".dot": "opsdist_cli.output.diagnose.dot:render",
    ".svg": "opsdist_cli.output.diagnose.svg:render",
}


def draw(ending: str, record: Mapping[str, Any]) -> str:
    """The wait-for graph of the record, with a line end after the last line."""
    module, function = GRAPHS[ending].split(":")
    text: str = getattr(import_module(module), function)(record)
    return text.rstrip("\n") + "\n"
