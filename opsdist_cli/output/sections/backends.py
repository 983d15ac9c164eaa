"""The section `backends` as text: backends. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs

Facts = Mapping[str, Any]
Rows = list[tuple[str, str]]


def render(backends: list[Facts]) -> list[str]:
    rows: Rows = []
    for backend in backends:
        name, summary = backend["name"], backend["summary"]
        rows.append((name, f"ready: {summary}" if backend["ready"] else f"not ready: {backend['reason']}"))
        rows += [("", f"but {backend['reason']}")] if backend["ready"] and backend["reason"] else []
        rows += [("", f"-> {backend['remedy']}")] if backend["remedy"] else []
    return pairs(rows or [("none", "no backend is known")])
