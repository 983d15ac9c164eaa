"""A slice of the measurement of what recording costs, so that the soak itself works when it is wanted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from collectives import native
from tests.soak.recording import pairs, records, told

pytestmark = pytest.mark.any_engine


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc: apt-get install gcc")
def test_a_record_takes_time(tmp_path: Path) -> None:
    found = records(tmp_path, 3, 1000, 1, "counter")
    assert len(found) == 3
    assert min(found) > 0
    assert "n   3" in told("record", found)


@pytest.mark.skipif(native.core() is None, reason="no native core")
@pytest.mark.parametrize("collective", ["barrier", "allreduce"])
def test_calls_run_recorded_or_not(collective: str) -> None:
    ((off, on),) = pairs(2, collective, 1, 10)
    assert off > 0
    assert on > 0
