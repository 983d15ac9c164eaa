"""Quantities as people read them."""

from __future__ import annotations

import pytest

from opsdist_cli.units import bits_per_second, bytes_binary, seconds


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1 << 30, "1 GiB"),
        (33_608_302_592, "31.3 GiB"),
        ((1 << 20) - 1, "1 MiB"),  # not 1024 KiB
        (3 << 40, "3 TiB"),
        (1 << 60, "1024 PiB"),
    ],
)
def test_bytes(count: int, text: str) -> None:
    assert bytes_binary(count) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (12_500_000_000, "100 Gb/s"),
        (312_500_000, "2.5 Gb/s"),
        (1_250_000, "10 Mb/s"),
        (1, "8 b/s"),
        (250, "2 kb/s"),
        (25 * 10**10, "2 Tb/s"),
    ],
)
def test_bits_per_second(rate: int, text: str) -> None:
    assert bits_per_second(rate) == text


@pytest.mark.parametrize(
    ("duration", "text"),
    [(1.5e-6, "1.5 us"), (0.02, "20 ms"), (0.99999, "1 s"), (1.0, "1 s"), (3.0, "3 s"), (90.25, "90.2 s")],
)
def test_seconds(duration: float, text: str) -> None:
    assert seconds(duration) == text
