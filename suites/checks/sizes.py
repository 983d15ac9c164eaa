"""Amounts of memory as findings say them. Pure. May import: the standard library."""

from __future__ import annotations

_UNITS = ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"))


def binary(amount: float) -> str:
    """57.5 GiB: powers of 1024, at most one digit after the point."""
    for bits, unit in _UNITS:
        if amount >= 1 << bits:
            return f"{amount / (1 << bits):.1f}".removesuffix(".0") + f" {unit}"
    return f"{amount:g} bytes"
