"""The section `clock` as text: what keeps the clock. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdist_cli.output.layout import pairs
from opsdist_cli.output.sections.words import or_unknown
from opsdist_cli.units import seconds

Facts = Mapping[str, Any]


def render(facts: Facts) -> list[str]:
    clocks = facts["hardware_clocks"]
    return pairs([
        ("synchronised", _synchronised(facts)),
        ("offset", _offset(facts["momentary_offset_seconds"])),
        ("stratum", or_unknown(facts["stratum"])),
        ("counter", or_unknown(facts["clocksource"])),
        ("clocks of cards", "unknown" if clocks is None else " ".join(clocks) or "none"),
    ])  # fmt: skip


def _synchronised(facts: Facts) -> str:
    known = {True: "yes", False: "no", None: None}[facts["synchronised"]]
    if known:
        return f"{known} (by {facts['source']})"
    reasons = [reading["reason"] for reading in facts["readings"].values() if reading["reason"]]
    return or_unknown(None, "; ".join(reasons))


def _offset(offset: float | None) -> str:
    if offset is None:
        return "unknown"
    return f"{seconds(abs(offset))} {'ahead' if offset > 0 else 'behind'}" if offset else "none"
