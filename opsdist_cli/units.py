"""Quantities as people read them. May import: the standard library."""

from __future__ import annotations


def bytes_binary(count: float) -> str:
    """31.3 GiB: powers of 1024, at most one digit after the point."""
    return _scaled(count, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def bits_per_second(bytes_per_second: float) -> str:
    """100 Gb/s, as links are sold: decimal, and in bits."""
    return _scaled(bytes_per_second * 8, 1000, ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"))


def bytes_per_second(rate: float) -> str:
    """10 GB/s, as benchmarks print rates: decimal, and in bytes."""
    return _scaled(rate, 1000, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"))


def seconds(duration: float) -> str:
    """1.5 us, 20 ms, 3 s."""
    if duration >= 1:
        return f"{_short(duration)} s"
    return _scaled(duration * 1e6, 1000, ("us", "ms", "s"))


def _scaled(amount: float, base: int, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        # 1023.96 KiB would be printed as 1024.
        if round(amount, 1) < base:
            return f"{_short(amount)} {unit}"
        amount /= base
    return f"{_short(amount)} {units[-1]}"


def _short(amount: float) -> str:
    return f"{amount:.1f}".removesuffix(".0")
