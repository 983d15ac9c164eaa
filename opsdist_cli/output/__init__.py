"""The formats a record can be written in: `render(record) -> str`, one file each.

FORMATS maps a format's name to its renderer, as "module:function", imported when used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

FORMATS: dict[str, str] = {
    "json": "opsdist_cli.output.json:render",
    "csv": "opsdist_cli.output.csv:render",
    "junit": "opsdist_cli.output.junit:render",
}


def render(name: str, record: Mapping[str, Any]) -> str:
    """The record (`suites.report.Report.record()`) in the named format."""
    module, function = FORMATS[name].split(":")
    text: str = getattr(import_module(module), function)(record)
    return text
