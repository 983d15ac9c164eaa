"""The section `software` as text: software. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs
from opsdist_cli.output.sections.words import or_unknown

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    rows = [
        ("system", or_unknown(facts["system"])),
        ("kernel", or_unknown(facts["kernel"])),
        ("C library", or_unknown(facts["c_library"])),
        ("Python", or_unknown(facts["python"])),
    ]
    if facts["packages"] is None:
        rows.append(("packages", "unknown"))
    rows += [(name, version or "not installed") for name, version in (facts["packages"] or {}).items()]
    rows += [
        (launcher["name"], f"{launcher['path']}, {_version(launcher['version'])}") for launcher in facts["launchers"]
    ]
    return pairs(rows if facts["launchers"] else [*rows, ("launchers", "none on PATH")])


def _version(text: str | None) -> str:
    return text or "version unknown"
