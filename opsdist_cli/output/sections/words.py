"""Words for facts: what is unknown says so, with the reason where there is one. May import: from this package."""

from __future__ import annotations

from opsdist_cli.output.layout import ranges
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
