"""The section `limits` as text: resource limits. May import: from this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opsdist_cli.output.layout import table
from opsdist_cli.output.sections.words import bytes_of, or_unknown

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    in_bytes = ("memlock", "stack", "core")
    rows = []
    for name, limit in facts.items():
        show: Callable[[Any], str] = bytes_of if name in in_bytes else or_unknown
        soft, hard = (limit["soft"], limit["hard"]) if limit else (None, None)
        rows.append((name, show(soft), show(hard)))
    return table(("limit", "soft", "hard"), rows)
