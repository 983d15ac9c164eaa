"""What identifies a machine is hidden; what names a device on it is not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.identities import found, hidden


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\tSerial Number    : 102X5K\n\tBoard ID : 0x1", "\tSerial Number    : (hidden)\n\tBoard ID : 0x1"),
        ("vendor serial number : SN12", "vendor serial number : (hidden)"),
        ("Serial Number : N/A", "Serial Number : N/A"),
        ("GPU UUID : GPU-01234567-89ab-cdef-0123-456789abcdef", "GPU UUID : (hidden)"),
        ("GPU 0: NVIDIA X (UUID: GPU-01234567-89ab-cdef-0123-456789abcdef)", "GPU 0: NVIDIA X (UUID: (hidden))"),
        ("\tNode GUID: 0x0123456789abcdef", "\tNode GUID: (hidden)"),
        ("node_guid:   0123:4567:89ab:cdef", "node_guid:   (hidden)"),
        ("ether 02:00:5e:00:00:01 x", "ether (hidden) x"),
        ('"address": "02:00:5e:00:00:01",', '"address": "(hidden)",'),
        ("VDie ID : 0A B1", "VDie ID : (hidden)"),
        ("0000:C1:00.0 192.0.2.1 2001:db8::12 mlx5_0 24.1.0.3", "0000:C1:00.0 192.0.2.1 2001:db8::12 mlx5_0 24.1.0.3"),
        ("PCIe Bus Info : 0000:81:00.0", "PCIe Bus Info : 0000:81:00.0"),
        ("12:34:56 started", "12:34:56 started"),
        ("    Serial Number                         : 1650123456789", None),
        ("NVRM: GPU Board Serial Number: 1650123456789", None),
        ("GPU 0000:9b:00.0: GPU serial number is 1650123456789.", None),
        ("    PRODUCT_SERIAL: 1650123456789", None),
        ('"serial_number": "1650123456789",', None),
        ("Board Serial : 1650123456789", None),
        ("Serial Number : NA1650123456789", None),
        ("Device Serial Number a0-88-c2-16-50-12-34-56", None),
        ("link 00:00:10:29:fe:80:00:00:00:00:00:00:16:50:12:34:56:78:90:cc x", None),
        ("Chassis ID : 1650.1234.5678", None),
        ("learnt 1650.1234.5678 here", None),
        ("2026-12-01 10:00:00 up", "2026-12-01 10:00:00 up"),
        ("the serial console is on", "the serial console is on"),
        ("0, X100, 0x0000000000000048, 1", "0, X100, 0x0000000000000048, 1"),  # why its clocks are low
    ],
)  # fmt: skip
def test_hidden(text: str, shown: str | None) -> None:
    """Where nothing else is said, the number is gone. A mask of bits has that many digits too, and names nobody."""
    if shown is None:
        assert not {"1650", "16:50", "16-50"} & set(re.findall(r"1650|16:50|16-50", hidden(text)))
    else:
        assert hidden(text) == shown


def test_found_are_those_that_have_a_key() -> None:
    assert found("Serial Number : 7X\nSerial Number : 8X\nUUID: GPU-1\nname: x\nVDie ID : -\n") == {
        "Serial Number": "7X", "UUID": "GPU-1",
    }  # fmt: skip


@given(st.text())
def test_nothing_raises_and_nothing_is_left(text: str) -> None:
    shown = hidden(text)
    assert hidden(shown) == shown
    found(text)
