"""Words for facts: what is unknown says so, with the reason where there is one. May import: from this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdist_cli.output.layout import ranges, wrapped
from opsdist_cli.units import bytes_binary


def or_unknown(value: object, reason: str | None = None) -> str:
    if value is None:
        return f"unknown ({reason})" if reason else "unknown"
    return str(value)


def bytes_of(value: int | str | None) -> str:
    return bytes_binary(value) if isinstance(value, int) else or_unknown(value)


def cpu_list(cpus: list[int] | None) -> str:
    # The blanks are where a long list wraps.
    return "unknown" if cpus is None else ranges(cpus).replace(",", ", ") or "none"


def free_of(free: int | None, total: int | None) -> str:
    return "unknown" if total is None else f"{bytes_of(free)} of {bytes_of(total)} free"


def device_remarks(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is wrong with the devices of a view."""
    lines: list[str] = []
    for row in rows:
        for why in row["why"]:
            named = why if row["device"] in why else f"{row['device']}: {why}"
            lines += wrapped(named, "  ", "      ")
    return lines
