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
    packages = facts["packages"] or {}
    rows += [(name, version) for name, version in packages.items() if version]
    lacking = [name for name, version in packages.items() if not version]
    rows += [("not installed", ", ".join(lacking))] if lacking else []
    rows += [(kit, facts[name]) for kit, name in (("CUDA", "cuda"), ("ROCm", "rocm")) if facts[name]]
    rows += [(f"{driver} driver", _version(version)) for driver, version in (facts["drivers"] or {}).items()]
    rows += [(f"lib{library['name']}", _library(library)) for library in facts["libraries"]]
    rows += [
        (launcher["name"], f"{launcher['path']}, {_version(launcher['version'])}") for launcher in facts["launchers"]
    ]
    return pairs(rows if facts["launchers"] else [*rows, ("launchers", "none on PATH")])


def _library(facts: Facts) -> str:
    return f"{facts['path']}{', before those of the system' if facts['preferred'] else ''}"


def _version(text: str | None) -> str:
    return text or "version unknown"
