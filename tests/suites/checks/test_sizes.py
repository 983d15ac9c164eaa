"""Amounts of memory in words."""

from __future__ import annotations

import pytest

from suites.checks.sizes import binary


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (3 << 19, "1.5 MiB"),
        (5 << 30, "5 GiB"),
        (2 << 40, "2 TiB"),
    ],
)
def test_binary(amount: int, text: str) -> None:
    assert binary(amount) == text
